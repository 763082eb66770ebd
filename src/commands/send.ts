import { z } from 'zod';
import { clientFlags } from '../config.ts';
import { command } from './command.ts';
import { print, printJson } from './output.ts';
import { reach } from './reach.ts';

export const send = command({
  words: ['<agent>', '"text"'],
  summary: 'say something to an agent; it is read when the present turn has ended',
  flags: {
    ...clientFlags,
    steer: { help: 'within the running turn', schema: z.boolean().optional() },
  },
  async run(told) {
    const [agent = '', content = ''] = told.words;
    const { steer, json } = told.settings;
    using gateway = await reach(told);
    const sent = await gateway.call('task.send', { agent, content, ...(steer !== undefined && { steer }) });
    if (json) printJson(sent);
    else print(`${sent.message} (place ${sent.position})`);
    return 0;
  },
});
