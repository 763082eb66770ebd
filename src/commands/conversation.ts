import { type Fact, type Gateway, SpokenText, type Task, type TreeEvent } from '../../client/index.ts';
import { askPermission } from './ask-permission.ts';
import { describe, toolsIn } from './describe.ts';
import type { Interruption } from './interruption.ts';
import { plain, tell } from './output.ts';
import { Questions } from './questions.ts';

export interface Talk {
  gateway: Gateway;
  task: Task;
  interruption: Interruption;
  /** A command for that gateway, as people would type it. */
  commandLine(words: string): string;
}

/** One task in a terminal: its text on stdout, all else on stderr, and answers from stdin. */
export class Conversation {
  readonly #gateway: Gateway;
  readonly #task: Task;
  readonly #interruption: Interruption;
  readonly #commandLine: Talk['commandLine'];
  readonly #text: SpokenText;
  readonly #questions = new Questions();
  /** What is being asked; each ends when it has been answered, here or elsewhere. */
  readonly #asked = new Map<string, AbortController>();
  #isMidLine = false;

  constructor({ gateway, task, interruption, commandLine }: Talk) {
    this.#gateway = gateway;
    this.#commandLine = commandLine;
    this.#task = task;
    this.#interruption = interruption;
    this.#text = new SpokenText(task.id);
  }

  take(event: TreeEvent): void {
    this.#interruption.saw(event);
    const said = this.#text.add(event);
    if (said !== '') {
      process.stdout.write(plain(said));
      this.#isMidLine = !said.endsWith('\n');
    }
    if (event.type !== 'delta' && event.type !== 'snapshot') this.#takeFact(event);
  }

  [Symbol.dispose](): void {
    this.#endLine();
    for (const life of this.#asked.values()) life.abort();
    this.#questions.close();
  }

  #takeFact(fact: Fact): void {
    switch (fact.type) {
      case 'message':
        return this.#say(toolsIn(fact).join('\n'));
      case 'agent.state':
        return this.#takeState(fact);
      case 'permission.requested':
        return this.#ask(fact);
      case 'permission.resolved':
        this.#settle(fact.data.permission);
        return this.#say(describe(fact));
      case 'permission.voided':
      case 'agent.notice':
      case 'agent.budget':
      case 'message.dropped':
        return this.#say(describe(fact));
      // Known already, told by the text, or of no interest here.
      case 'agent.created':
      case 'agent.usage':
      case 'agent.progress':
      case 'agent.result':
      case 'agent.mail':
      case 'agent.stderr':
      case 'message.queued':
      case 'message.consumed':
        return;
      default:
        fact satisfies never;
    }
  }

  #takeState(fact: Fact<'agent.state'>): void {
    if (fact.agent !== this.#task.id) return;
    const { state } = fact.data;
    this.#settle(this.#task.id);
    if (state === 'idle' && this.#interruption.isAsked) this.#ask(fact);
    else if (state === 'queued' || fact.data.reason || fact.data.detail) this.#say(describe(fact));
  }

  /** A permission, or what to do after an interrupt. */
  #ask(fact: Fact<'permission.requested' | 'agent.state'>): void {
    this.#endLine();
    const life = new AbortController();
    const isPermission = fact.type === 'permission.requested';
    this.#asked.set(isPermission ? fact.data.permission : this.#task.id, life);
    const asking = isPermission ? this.#askPermission(fact, life.signal) : this.#askWhatNow(life.signal);
    // What was settled meanwhile needs no answer of ours.
    asking.catch((error: Error) => {
      if (!life.signal.aborted) this.#say(error.message);
    });
  }

  async #askPermission({ data }: Fact<'permission.requested'>, signal: AbortSignal): Promise<void> {
    const answer = await askPermission(data, this.#questions, signal);
    const { permission } = data;
    if (answer) await this.#gateway.call('permission.answer', { permission, ...answer });
    else if (!signal.aborted) this.#sayWaits(`answer ${permission} allow|deny ["message"]`);
  }

  async #askWhatNow(signal: AbortSignal): Promise<void> {
    const words = await this.#questions.ask('\nInterrupted. What now? (Ctrl-C again cancels) ', signal);
    if (words?.trim()) await this.#task.send(words);
    else if (!signal.aborted) this.#sayWaits(`send ${this.#task.id} "text"`);
  }

  #sayWaits(words: string): void {
    this.#say(`It waits for: ${this.#commandLine(words)}`);
  }

  #settle(name: string): void {
    this.#asked.get(name)?.abort();
    this.#asked.delete(name);
  }

  #say(words: string | undefined): void {
    if (!words) return;
    this.#endLine();
    tell(words);
  }

  #endLine(): void {
    if (this.#isMidLine) process.stdout.write('\n');
    this.#isMidLine = false;
  }
}
