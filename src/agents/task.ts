import type { Content } from '../protocol/content.ts';
import { shownPromptUnits } from '../protocol/limits.ts';
import type { Params } from '../protocol/methods.ts';
import type { TaskView } from '../protocol/task.ts';

/** A task as it is journaled: all but the prompt, which is the agent's first message. */
export type StoredTask = Omit<Params<'task.start'>, 'key' | 'subscribe' | 'prompt' | 'cwd'> & {
  cwd: string;
  /** The prompt as others see it: whole if it is short. */
  prompt?: Content | null;
  promptSize?: number;
};

export function storedTask(params: Params<'task.start'>, cwd: string): StoredTask {
  const { key: _key, subscribe: _subscribe, prompt, ...rest } = params;
  const size = prompt === undefined ? 0 : JSON.stringify(prompt).length;
  return {
    ...rest,
    cwd,
    ...(prompt !== undefined && (size > shownPromptUnits ? { prompt: null, promptSize: size } : { prompt })),
  };
}

/** Without what is nobody else's business: the values of `env`. `seq` is that of its `agent.created`. */
export function taskView(task: StoredTask, seq?: number): TaskView {
  const { env, parent: _parent, ...rest } = task;
  return {
    ...rest,
    ...(env && { envNames: Object.keys(env) }),
    ...(task.prompt === null && seq !== undefined && { seq }),
  };
}

/** What is added to the CLI's system prompt. */
export function instructions(task: Omit<StoredTask, 'prompt' | 'cwd'>): string | undefined {
  const { appendSystemPrompt, successCriteria, outputFormat, completionPhrase } = task;
  const parts = [
    appendSystemPrompt,
    successCriteria && `The task is done well if: ${successCriteria}`,
    outputFormat && `Give the result in this form: ${outputFormat}`,
    completionPhrase &&
      `When the whole task is done, and only then, write <promise>${completionPhrase}</promise>.`,
  ];
  return parts.filter(Boolean).join('\n\n') || undefined;
}
