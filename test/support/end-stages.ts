import { afterAll } from 'vitest';
import { stages } from './stage.ts';

/** After each test file: ends what a test that ran out of time has left open. */
afterAll(() => Promise.all([...stages].map((stage) => stage[Symbol.asyncDispose]())));
