import { describe, expect, test } from 'vitest';
import { endIdle } from '../../src/agents/due.ts';
import { interruptCut } from '../../src/agents/ending.ts';
import { deliver, nextMessage, queueMessage } from '../../src/agents/messages.ts';
import { answered, expireOverdue, permissionId } from '../../src/agents/permissions.ts';
import { processEnded } from '../../src/agents/resume.ts';
import { interrupt } from '../../src/agents/turns.ts';
import { aborted, asks, echo, init, Rehearsal, result, says, takesBack } from './rehearsal.ts';

const allow = (agent: Rehearsal, requestId: string) =>
  agent.step((draft) => {
    const permission = permissionId('agent', agent.record.run, requestId);
    answered(draft, requestId, { behavior: 'allow', updatedInput: {} }, { permission, outcome: 'allowed' });
  });

const send = (agent: Rehearsal, content = 'Next.') => {
  let id = '';
  agent.step((draft) => {
    id = queueMessage(draft, { from: 'somebody', content }).message;
  });
  return id;
};

const died = { code: 137, stderr: [], unfinished: 0 };

describe('a permission', () => {
  test('that was answered just as the CLI took it back is voided, once', () => {
    const agent = new Rehearsal();
    agent.hear(init, asks('r1'), asks('r2'));
    allow(agent, 'r1');
    agent.hear(takesBack('r1'), takesBack('r1'), takesBack('unknown'));
    const permission = permissionId('agent', 1, 'r1');
    expect(agent.of('permission.voided')).toEqual([{ permission }]);
    expect(agent.of('permission.resolved')).toEqual([{ permission, outcome: 'allowed' }]);
    expect(Object.keys(agent.record.asks)).toEqual(['r2']);
  });

  test('is not voided by a line of a later turn', () => {
    const agent = new Rehearsal({ keepOpen: true });
    send(agent);
    agent.hear(init, asks('r1'));
    allow(agent, 'r1');
    agent.hear(result());
    send(agent);
    agent.hear(init, takesBack('r1'));
    expect(agent.of('permission.voided')).toEqual([]);
  });

  test('of a subagent in the background lives on after the turn, and goes with its task', () => {
    const agent = new Rehearsal();
    agent.hear(init, {
      type: 'system',
      subtype: 'task_started',
      task_id: 'b',
      run_id: 'run-b',
      is_backgrounded: true,
    });
    agent.hear(asks('main'), asks('inner', { agent_id: 'b' }), asks('lost', { agent_id: 'gone' }), result());
    expect(Object.keys(agent.record.asks)).toEqual(['inner']);
    expect(agent.state).toBe('idle');
    agent.hear({ type: 'system', subtype: 'task_notification', task_id: 'b', status: 'completed' });
    expect(agent.record.asks).toEqual({});
    expect(agent.of('permission.resolved').map(({ outcome }) => outcome)).toEqual(Array(3).fill('withdrawn'));
  });

  test('expires at its deadline, not before, and only it', () => {
    const agent = new Rehearsal({ limits: { permissionMinutes: 1 } });
    agent.hear(init, asks('r1'));
    agent.wait(30_000);
    agent.hear(asks('r2'));
    agent.wait(29_999);
    expect(agent.step(expireOverdue).facts).toEqual([]);
    agent.wait(1);
    const { facts, lines } = agent.step(expireOverdue);
    expect(facts.map(({ data }) => data.outcome)).toEqual(['expired']);
    expect(lines).toMatchObject([{ response: { request_id: 'r1', response: { behavior: 'deny' } } }]);
    expect(agent.state).toBe('running');
  });
});

describe('an interrupt', () => {
  test('waits for the init of its turn, and is told to the CLI once', () => {
    const agent = new Rehearsal();
    expect(agent.step(interrupt).lines).toEqual([]);
    expect(agent.hear(init).lines).toMatchObject([{ request: { subtype: 'interrupt' } }]);
    expect(agent.step(interrupt).lines).toEqual([]);
    expect(agent.hear(init).lines).toEqual([]);
    agent.hear(aborted);
    expect(agent.state).toBe('idle');
  });

  test('that came too late for its turn and aborted the next one fails nobody', () => {
    const agent = new Rehearsal();
    agent.hear(init);
    agent.step(interrupt);
    agent.hear(result(), init, aborted);
    expect(agent.state).toBe('idle');
    expect(agent.record.turns).toBe(2);
  });

  test('meets the turn of its own message when one that the CLI began by itself came between', () => {
    const agent = new Rehearsal({ keepOpen: true });
    const message = send(agent);
    agent.hear(init, says('About a task.'));
    expect(agent.step(interrupt).lines).toHaveLength(1);
    agent.hear(result({ ...aborted, origin: { kind: 'task-notification' } }));
    expect(agent.record.state).toMatchObject({ is: 'running', turn: { number: 1, interrupting: 'wanted' } });
    expect(agent.hear(init).lines).toMatchObject([{ request: { subtype: 'interrupt' } }]);
    agent.hear(echo(message), aborted);
    expect(agent.state).toBe('idle');
    expect(agent.of('message.consumed')).toEqual([{ id: message, turn: 1 }]);
  });

  test('of a turn whose CLI has died: neither it nor its message is taken up again', () => {
    const agent = new Rehearsal({ keepOpen: true });
    const message = send(agent);
    agent.hear(init);
    agent.step(interrupt);
    agent.step((draft) => processEnded(draft, died));
    expect(agent.record.state).toMatchObject({ is: 'interrupted', resuming: true });
    expect(agent.record.state).not.toHaveProperty('cut');
    expect(agent.record.messages).toEqual([]);
    expect(agent.of('message.consumed')).toEqual([{ id: message, turn: 1 }]);
  });

  test('between two runs lets go of the turn that was cut', () => {
    const agent = new Rehearsal();
    agent.hear(init);
    agent.step((draft) => processEnded(draft, died));
    expect(agent.record.state).toHaveProperty('cut');
    agent.step((draft) => expect(interruptCut(draft)).toBe(true));
    expect(agent.record.state).not.toHaveProperty('cut');
    expect(agent.record.messages).toEqual([]);
    agent.step((draft) => expect(interruptCut(draft)).toBe(false));
  });
});

describe('a message', () => {
  test('is held while another is on its way, and steers only a turn that has begun', () => {
    const agent = new Rehearsal();
    agent.step((draft) => queueMessage(draft, { from: 'somebody', content: 'Now.', steer: true }));
    agent.step((draft) => queueMessage(draft, { from: 'somebody', content: 'Later.' }));
    expect(nextMessage(agent.record)).toBeUndefined();
    const [prompt = ''] = agent.sent;
    agent.hear(init);
    expect(nextMessage(agent.record)).toBeUndefined();
    agent.hear(echo(prompt));
    const steering = nextMessage(agent.record);
    expect(steering).toMatchObject({ steer: true });
    agent.step((draft) => deliver(draft, { id: steering?.id ?? '', content: 'Now.' }));
    expect(agent.record.turns).toBe(1);
    // The turn ends without it: the CLI takes it into the next one, which it begins by itself.
    agent.hear(result());
    expect(agent.state).toBe('idle');
    expect(nextMessage(agent.record)).toBeUndefined();
    agent.hear(init, echo(steering?.id ?? ''));
    expect(agent.of('message.consumed')).toEqual([{ id: steering?.id, turn: 2 }]);
    agent.hear(result());
    expect(nextMessage(agent.record)).toMatchObject({ sent: false });
  });
});

describe('a task of the CLI', () => {
  const started = (id: string) => ({
    type: 'system',
    subtype: 'task_started',
    task_id: id,
    run_id: `run-${id}`,
    is_backgrounded: true,
  });
  const over = (id: string, status = 'completed') => ({
    type: 'system',
    subtype: 'task_notification',
    task_id: id,
    status,
  });
  const told = (id: string, more: object = {}) =>
    result({ origin: { kind: 'task-notification', runId: `run-${id}` }, ...more });

  test('two that end at once: the empty result of the first is not the end', () => {
    const agent = new Rehearsal();
    agent.hear(init, started('a'), started('b'), result());
    agent.hear(over('a'), over('b'));
    expect(agent.state).toBe('idle');
    agent.hear(init, told('a', { num_turns: 0, stop_reason: null, result: '' }));
    expect(agent.state).toBe('idle');
    agent.hear(init, says('Both are done.'), told('b', { result: 'Both are done.' }));
    expect(agent.state).toBe('completed');
    expect(agent.of('agent.result')).toMatchObject([{ text: 'Both are done.', turns: 3 }]);
  });

  test('that ended before an interrupt has its turn all the same', () => {
    const agent = new Rehearsal({ completionPhrase: 'DONE' });
    agent.hear(init, started('a'), started('b'), over('a'), over('b', 'stopped'));
    agent.step(interrupt);
    agent.hear(aborted);
    expect(Object.keys(agent.record.tasks)).toEqual(['a']);
    agent.hear(init, told('a'));
    expect(agent.record.tasks).toEqual({});
  });

  test('whose end is taken in during a turn, or that was stopped, is waited for no more', () => {
    const agent = new Rehearsal();
    agent.hear(init, started('a'), started('b'), over('a'), over('b', 'stopped'));
    agent.hear(echo('of-the-cli', '<task-notification>\n<task-id>a</task-id>\n'), result());
    expect(agent.state).toBe('completed');
  });

  test('an agent that waited long for one is not idle for too long as it ends', () => {
    const agent = new Rehearsal({ limits: { idleMinutes: 1 } });
    agent.hear(init, { type: 'system', subtype: 'task_started', task_id: 'a' }, result());
    agent.wait(3_600_000);
    agent.step(endIdle);
    agent.hear(over('a'));
    agent.step(endIdle);
    expect(agent.state).toBe('idle');
    agent.wait(60_000);
    agent.step(endIdle);
    expect(agent.state).toBe('completed');
  });
});
