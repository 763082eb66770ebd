import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/node-version.ts',
    setupFiles: 'test/support/end-stages.ts',
    pool: 'forks',
    // Each test of the real CLI is a process tree of its own: more of them at once are slower, not faster.
    maxWorkers: 2,
    // The real CLI takes a second to start, on a busy machine ten.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
});
