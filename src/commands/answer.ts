import { clientFlags } from '../config.ts';
import { ConfigError } from '../flags.ts';
import { command } from './command.ts';
import { print, printJson } from './output.ts';
import { reach } from './reach.ts';

export const answer = command({
  words: ['<permission>', 'allow|deny', '["message"]'],
  summary: 'answer a permission',
  flags: clientFlags,
  async run(told) {
    const [permission = '', behavior, message] = told.words;
    if (behavior !== 'allow' && behavior !== 'deny')
      throw new ConfigError(`Say allow or deny, not "${behavior}".`);
    using gateway = await reach(told);
    const answered = await gateway.call('permission.answer', {
      permission,
      behavior,
      ...(message !== undefined && { message }),
    });
    if (told.settings.json) printJson(answered);
    else print(answered.outcome);
    return 0;
  },
});
