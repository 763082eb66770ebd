import { clientFlags } from '../config.ts';
import { command } from './command.ts';
import { print, printJson } from './output.ts';
import { reach } from './reach.ts';

export const cancel = command({
  words: ['<agent>', '["reason"]'],
  summary: 'end an agent and all its descendants',
  flags: clientFlags,
  async run(told) {
    const [agent = '', reason] = told.words;
    using gateway = await reach(told);
    const ended = await gateway.call('task.cancel', { agent, ...(reason !== undefined && { reason }) });
    if (told.settings.json) printJson(ended);
    else print(ended.cancelled.join('\n') || 'It had ended before.');
    return 0;
  },
});
