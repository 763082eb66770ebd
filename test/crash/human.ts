import type { TestClient } from '../support/client.ts';
import { Peer } from './peer.ts';

/** Answers every permission: at once, or, being patient, only after a loss of the connection since it was asked. */
export class Human extends Peer {
  patient = false;
  answers = 0;
  readonly #asked = new Map<string, number>();

  protected async session(client: TestClient): Promise<void> {
    const { snapshot } = await client.call('tree.subscribe', { tree: '*', deltas: false });
    for (const { permission } of snapshot?.permissions ?? []) this.#note(permission);
    for (let seen = 0; ; ) {
      for (const { data } of client.of('permission.requested')) this.#note(data.permission);
      for (const [permission, since] of this.#asked) {
        if (!this.patient || since < this.connections) await this.#allow(client, permission);
      }
      await client.until(() => client.events.length > seen);
      seen = client.events.length;
    }
  }

  #note(permission: string): void {
    if (!this.#asked.has(permission)) this.#asked.set(permission, this.connections);
  }

  /** Under a key, so that an answer whose outcome was lost can be given again. */
  async #allow(client: TestClient, permission: string): Promise<void> {
    if (this.#asked.get(permission) === Number.POSITIVE_INFINITY) return;
    const params = { permission, behavior: 'allow', key: `answer-${permission}` } as const;
    const { outcome } = await client.call('permission.answer', params);
    if (outcome !== 'allowed') this.tell(`${permission} was ${outcome}`);
    this.#asked.set(permission, Number.POSITIVE_INFINITY);
    this.answers += 1;
  }
}
