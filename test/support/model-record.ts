import { EventEmitter, on } from 'node:events';
import type { Asked } from './model-conversation.ts';

export interface RecordedRequest {
  /** Counts from 1. */
  number: number;
  kind: Asked['kind'];
  /** The script's name, or its hash if it has none; '' if there was no script. */
  script: string;
  /** The step asked for; -1 if there was no script. */
  index: number;
  /** The text sent so far: all `text_delta`s. */
  said: string;
}

const maxRequests = 20_000;
const maxText = 64 * 1024 * 1024;

/** What the model was asked and what it said. Past 20,000 requests or 64 Mi characters the oldest are dropped. */
export class RequestRecord {
  readonly requests: RecordedRequest[] = [];
  readonly #added = new EventEmitter<{ request: [] }>().setMaxListeners(0);
  #count = 0;
  #text = 0;

  add(asked: Asked): RecordedRequest {
    const place =
      asked.kind === 'step' ? { script: asked.script.name, index: asked.index } : { script: '', index: -1 };
    const request: RecordedRequest = {
      number: ++this.#count,
      kind: asked.kind,
      ...place,
      said: '',
    };
    this.requests.push(request);
    this.#trim();
    this.#added.emit('request');
    return request;
  }

  say(request: RecordedRequest, text: string): void {
    request.said += text;
    this.#text += text.length;
  }

  of(script: string): RecordedRequest[] {
    return this.requests.filter((request) => request.script === script);
  }

  async asked(script: string, index: number): Promise<RecordedRequest> {
    const find = () => this.requests.find((request) => request.script === script && request.index === index);
    const already = find();
    if (already) return already;
    for await (const _ of on(this.#added, 'request')) {
      const found = find();
      if (found) return found;
    }
    throw new Error('unreachable: this iterator has no end');
  }

  #trim(): void {
    while (this.requests.length > 1 && (this.requests.length > maxRequests || this.#text > maxText)) {
      this.#text -= this.requests.shift()?.said.length ?? 0;
    }
  }
}
