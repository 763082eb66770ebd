"""Drives a task over the gateway's WebSocket, with plain JSON and nothing of ours.

Arguments: the socket's address, the working directory, the prompt. The token is in TOKEN. Prints one JSON object.
"""

import asyncio
import base64
import json
import os
import sys

import websockets


async def main(url: str, cwd: str, prompt: str) -> None:
    token = base64.urlsafe_b64encode(os.environ["TOKEN"].encode()).decode().rstrip("=")
    names = ["spawngate.v1.json", "spawngate.bearer." + token]
    async with websockets.connect(url, subprotocols=names, max_size=None) as socket:

        async def send(number, method, **params):
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))

        await send(1, "task.start", prompt=prompt, cwd=cwd, subscribe=True)
        seen = {"protocol": socket.subprotocol, "types": [], "seqs": [], "answers": {}}
        async for frame in socket:
            message = json.loads(frame)
            if "id" in message:
                seen["answers"][message["id"]] = message.get("result", message.get("error"))
                if message["id"] == 3:
                    break
                continue
            seen.setdefault("first", message["method"])
            for event in message["params"].get("events", []):
                seen["types"].append(event["type"])
                if event["type"] == "delta":
                    continue
                seen["seqs"].append(event["seq"])
                if event["type"] == "permission.requested":
                    await send(2, "permission.answer", permission=event["data"]["permission"], behavior="allow")
                if event["type"] == "agent.result":
                    await send(3, "agent.result", agent=event["agent"])
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
