import { z } from 'zod';
import type { Params } from '../../client/index.ts';
import type { PermissionRequested } from '../protocol/permission.ts';
import { inputOf } from './describe.ts';
import { plain, short } from './output.ts';
import type { Questions } from './questions.ts';

type Answer = Omit<Params<'permission.answer'>, 'permission'>;

/** What we read of the input of a question. */
const questionsSchema = z.object({
  questions: z.array(
    z.object({
      question: z.string(),
      multiSelect: z.boolean().optional(),
      options: z.array(z.object({ label: z.string(), description: z.string().optional() })).default([]),
    }),
  ),
});

/** Asks for it in the terminal. Undefined if nobody answered. */
export async function askPermission(
  { kind, tool, input }: PermissionRequested,
  questions: Questions,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const asked = kind === 'question' ? questionsSchema.safeParse(input) : undefined;
  if (asked?.success) return askQuestions(asked.data.questions, questions, signal);
  const what =
    kind === 'plan' ? `Plan:\n${plain(String(input.plan ?? ''))}` : `${short(tool)} ${inputOf(input)}`;
  for (;;) {
    const line = await questions.ask(`\n${what}\nAllow? y, n, or why not: `, signal);
    if (line === undefined) return undefined;
    const answer = readAnswer(line.trim());
    if (answer) return answer;
  }
}

function readAnswer(line: string): Answer | undefined {
  if (line === '') return undefined;
  if (/^y(es)?$/i.test(line)) return { behavior: 'allow' };
  return /^no?$/i.test(line) ? { behavior: 'deny' } : { behavior: 'deny', message: line };
}

type Question = z.infer<typeof questionsSchema>['questions'][number];

async function askQuestions(
  asked: readonly Question[],
  questions: Questions,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const answers: Record<string, string | string[]> = {};
  for (const { question, options, multiSelect } of asked) {
    const list = options.map(({ label, description }, k) => {
      return `\n  ${k + 1}. ${short(label)}${description ? `: ${short(description)}` : ''}`;
    });
    const how = multiSelect ? 'Numbers with commas, or your own words' : 'A number, or your own words';
    const line = await questions.ask(`\n${plain(question)}${list.join('')}\n${how}: `, signal);
    if (line === undefined) return undefined;
    const labelOf = (word: string) => options[Number(word) - 1]?.label ?? word.trim();
    answers[question] = multiSelect ? line.split(',').map(labelOf) : labelOf(line);
  }
  return { behavior: 'allow', answers };
}
