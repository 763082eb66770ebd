/** Letters only: what agents say must not steer the terminal. */
export function plain(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '');
}

/** On one line, shortened to `most` units. */
export function short(text: string, most = 100): string {
  const line = plain(text).replace(/\s+/g, ' ').trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** What is said to people beside the output. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}
