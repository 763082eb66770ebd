import { TestClient } from '../support/client.ts';

export type Address = { url: string; token: string };

/** Where the gateway can be reached at present, for those who come back after its death. */
export class Door {
  #address = Promise.withResolvers<Address>();

  opens(address: Address): void {
    this.#address.resolve(address);
  }

  closes(): void {
    this.#address = Promise.withResolvers();
  }

  get address(): Promise<Address> {
    return this.#address.promise;
  }
}

/** Makes a call over as many connections as it takes. It needs a key, as an answer that is lost may have been a yes. */
export async function insist<T>(door: Door, call: (client: TestClient) => Promise<T>): Promise<T> {
  for (;;) {
    const { url, token } = await door.address;
    const client = new TestClient(url, token);
    try {
      await client.welcome();
      return await call(client);
    } catch (error) {
      if (!client.closed) throw error;
    } finally {
      await client.close();
    }
  }
}
