import { describe, expect, test } from 'vitest';
import { judge } from './fake-stdin.ts';

// Seen on 2.1.332.
describe('of a line on its stdin the fake CLI makes what the real one does', () => {
  test.each([
    'not JSON',
    '{"type":"user"',
    'null',
    '{"type":"user"}',
    '{"type":"user","message":{"role":"assistant","content":"x"}}',
    '{"type":"control_request","request_id":"x"}',
  ])('%s ends it', (line) => {
    expect(judge(line)).toMatchObject({ is: 'fatal' });
  });

  test.each([
    '',
    '   ',
    '\r',
    '[1,2]',
    '7',
    '{"type":"frobnicate"}',
    '{"type":"keep_alive"}',
    '{"type":"update_environment_variables","variables":{}}',
    // The older bridge's form.
    '{"type":"control_response","response_id":"r","response":{"subtype":"success","response":{}}}',
  ])('%j is passed over', (line) => {
    expect(judge(line)).toEqual({ is: 'nothing' });
  });

  test('a message, a request and an answer are taken', () => {
    expect(judge('{"type":"user","message":{"role":"user","content":""},"uuid":"u"}\r')).toEqual({
      is: 'user',
      uuid: 'u',
      content: '',
    });
    expect(judge('{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}')).toEqual({
      is: 'request',
      id: 'r',
      subtype: 'interrupt',
    });
    const answer = '{"type":"control_response","response":{"subtype":"success","request_id":"r"}}';
    expect(judge(answer)).toMatchObject({ is: 'answer', id: 'r' });
  });
});
