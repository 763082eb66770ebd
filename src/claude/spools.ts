import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

type RunRef = { agent: string; run: number };

/** Where the runs' folders lie: `<root>/<agent>.<run>`. */
export class Spools {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  folder({ agent, run }: RunRef): string {
    return join(this.#root, `${agent}.${run}`);
  }

  /** Deletes what closed runs left: we may have died between closing one and deleting its folder. */
  keepOnly(open: readonly RunRef[]): void {
    const kept = new Set(open.map((run) => this.folder(run)));
    for (const folder of this.#folders()) {
      if (!kept.has(folder)) rmSync(folder, { recursive: true, force: true });
    }
  }

  #folders(): string[] {
    try {
      return readdirSync(this.#root).map((name) => join(this.#root, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }
}
