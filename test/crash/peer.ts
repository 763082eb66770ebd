import type { Encoding } from '../../src/protocol/codec.ts';
import { TestClient } from '../support/client.ts';
import type { Door } from './door.ts';
import type { Pulse } from './pulse.ts';

/** A client that comes back after each loss of its connection. */
export abstract class Peer {
  /** What it saw that must not be. */
  readonly problems: string[] = [];
  protected readonly pulse: Pulse;
  /** How many connections it has had. */
  connections = 0;
  /** It has one now. */
  served = false;
  readonly #encoding: Encoding;
  #client: TestClient | undefined;
  #left = false;

  constructor(pulse: Pulse, encoding: Encoding) {
    this.pulse = pulse;
    this.#encoding = encoding;
  }

  /** What it does on one connection, until that is lost. */
  protected abstract session(client: TestClient): Promise<void>;

  async stayAt(door: Door): Promise<void> {
    while (!this.#left) {
      const { url, token } = await door.address;
      const client = new TestClient(url, token, this.#encoding);
      this.#client = client;
      try {
        await client.welcome();
        this.connections += 1;
        this.served = true;
        this.pulse.beat();
        await this.session(client);
      } catch (error) {
        if (!client.closed) {
          this.#left = true;
          this.tell(String(error));
        }
      } finally {
        this.served = false;
        await client.close();
      }
    }
  }

  tell(problem: string): void {
    this.problems.push(`${this.constructor.name}: ${problem}`);
    this.pulse.beat();
  }

  /** Cuts its connection, as a network would, and tells whether it was being served. */
  cut(): boolean {
    this.#client?.socket.terminate();
    return this.served;
  }

  leave(): void {
    this.#left = true;
    this.cut();
  }
}
