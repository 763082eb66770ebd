/**
 * The names of all MessagePack tokens in some bytes, from the specification's table: a second reader, independent of
 * the one in src/protocol and of msgpackr.
 */
export function tokensOf(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tokens: string[] = [];
  let at = 0;
  const size = (width: number) => {
    const value = width === 1 ? view.getUint8(at) : width === 2 ? view.getUint16(at) : view.getUint32(at);
    at += width;
    return value;
  };
  const values = (count: number) => {
    for (let i = 0; i < count; i++) one();
  };
  const skip = (name: string, count: number) => {
    tokens.push(name);
    at += count;
  };
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a table
  const one = () => {
    const token = view.getUint8(at++);
    if (token <= 0x7f) skip('fixint', 0);
    else if (token <= 0x8f) values(2 * (token & 15));
    else if (token <= 0x9f) values(token & 15);
    else if (token <= 0xbf) skip('fixstr', token & 31);
    else if (token >= 0xe0) skip('negative fixint', 0);
    else if (token <= 0xc3) skip(['nil', 'unused', 'false', 'true'][token - 0xc0] ?? '', 0);
    else if (token <= 0xc6) skip('bin', size(2 ** (token - 0xc4)));
    else if (token <= 0xc9) skip('ext', size(2 ** (token - 0xc7)) + 1);
    else if (token <= 0xcb) skip('float', token === 0xca ? 4 : 8);
    else if (token <= 0xcf) skip('uint', 2 ** (token - 0xcc));
    else if (token <= 0xd3) skip('int', 2 ** (token - 0xd0));
    else if (token <= 0xd8) skip('ext fix', 2 ** (token - 0xd4) + 1);
    else if (token <= 0xdb) skip('str', size(2 ** (token - 0xd9)));
    else if (token <= 0xdd) values(size(token === 0xdc ? 2 : 4));
    else values(2 * size(token === 0xde ? 2 : 4));
  };
  one();
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes follow the value`);
  return tokens;
}
