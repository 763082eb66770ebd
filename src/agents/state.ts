import type { AgentStateName, StateReason, TerminalState } from '../protocol/agent.ts';
import { terminalStates } from '../protocol/agent.ts';

/** From a user message to the CLI's `result`. Numbered over the agent's life. */
export type Turn = {
  number: number;
  /** Our message that opened it; absent if the CLI began it by itself. */
  message?: string;
  /** The CLI has shown its `init`: before that an interrupt would go unheard. */
  begun?: true;
  /** Its end is wanted, so its failing result is no failure; `sent` once the CLI was told. */
  interrupting?: 'wanted' | 'sent';
  /** The assistant's own text held the completion phrase. */
  promised?: true;
  /** The CLI has shown output of its own in it. */
  heard?: true;
  /** The CLI's name of the last API error in it. */
  error?: string;
};

/** What went wrong: a name for programs, words for people that say what to do. */
export type Problem = { reason: StateReason; detail: string; exitCode?: number };

export type Ended =
  | { is: 'completed'; detail?: string }
  | ({ is: 'failed' } & Problem)
  | { is: 'cancelled'; detail?: string }
  | { is: 'timed_out' }
  | { is: 'over_budget' }
  /** With `resuming` a new run follows, which goes on with the turn that was cut, if one was open. */
  | { is: 'interrupted'; reason: StateReason; resuming: boolean; cut?: Turn; exitCode?: number };

export type State =
  /** Admitted, no run yet. */
  | { is: 'queued' }
  | { is: 'starting'; turn?: Turn }
  | { is: 'running'; turn: Turn }
  /** `since`: epoch ms. */
  | { is: 'idle'; since: number }
  | Ended;

export type StateInput =
  /** A run was opened; with a turn if a line that opens one was placed with it. */
  | { type: 'run'; turn?: Turn }
  | { type: 'ready'; at: number }
  | { type: 'turn'; turn: Turn }
  | { type: 'result'; at: number }
  /** Something happened that a turn may follow. */
  | { type: 'stirred'; at: number }
  | { type: 'end'; as: Ended };

/** The state that follows, or undefined if the input changes nothing there. */
export function next(state: State, input: StateInput): State | undefined {
  switch (input.type) {
    case 'run':
      if (state.is !== 'queued' && !isEnded(state)) return undefined;
      return { is: 'starting', ...(input.turn && { turn: input.turn }) };
    case 'ready':
      if (state.is !== 'starting') return undefined;
      return state.turn ? { is: 'running', turn: state.turn } : { is: 'idle', since: input.at };
    case 'turn':
      if (state.is === 'starting' && !state.turn) return { is: 'starting', turn: input.turn };
      return state.is === 'idle' ? { is: 'running', turn: input.turn } : undefined;
    case 'result':
      return openTurn(state) ? { is: 'idle', since: input.at } : undefined;
    case 'stirred':
      return state.is === 'idle' ? { is: 'idle', since: input.at } : undefined;
    case 'end':
      return isEnded(state) ? undefined : input.as;
    default:
      return input satisfies never;
  }
}

export function isEnded(state: State): state is Ended {
  return isTerminal(state.is);
}

/** Ended, and it doesn't go on by itself. */
export function isOver(state: State): state is Ended {
  return isEnded(state) && !(state.is === 'interrupted' && state.resuming);
}

export function isTerminal(name: AgentStateName): name is TerminalState {
  return (terminalStates as readonly string[]).includes(name);
}

export function openTurn(state: State): Turn | undefined {
  return state.is === 'running' || state.is === 'starting' ? state.turn : undefined;
}
