import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Sink } from '../../src/feed/feed.ts';
import { Reader } from './reader.ts';
import { FeedStage } from './stage.ts';
import { Tree } from './tree.ts';

const text = { kind: 'text', size: 10 } as const;
const note = { kind: 'note', size: 10 } as const;
const end = { kind: 'end', size: 10 } as const;

test('a thousand who subscribe while events are published get each fact exactly once', async () => {
  using stage = await new FeedStage().found();
  const [tree] = stage.trees as [Tree];
  const readers: { sink: Reader; after: number }[] = [];
  const pumps: Promise<void>[] = [];
  for (let i = 0; i < 1000; i += 1) {
    const sink = new Reader(i % 2 ? 'json' : 'msgpack');
    const after = i % 3 ? stage.journal.head : 0;
    readers.push({ sink, after });
    pumps.push(stage.open(sink, { after }).pump());
    if (i % 5 === 0) void stage.write(tree, [text, note, text]);
    if (i % 50 === 0) void stage.write(tree, [end]);
    if (i % 7 === 0) await turn();
  }
  await Promise.all(pumps);
  await stage.write(tree, [note]);
  const all = (await stage.journal.read({}, 0, Number.MAX_SAFE_INTEGER)).facts.map(({ seq }) => seq);
  for (const { sink, after } of readers) {
    expect(sink.seqs).toEqual(all.filter((seq) => seq > after));
    expect([...sink.texts]).toEqual(tree.text);
  }
});

describe('a reader that takes nothing', () => {
  test('is given nothing, and what it missed comes in pages once it reads on', async () => {
    using stage = await new FeedStage().found();
    const [tree] = stage.trees as [Tree];
    const sink = new Reader();
    const feed = stage.open(sink);
    await feed.pump();
    sink.full = true;
    const given = sink.frames.length;
    for (let i = 0; i < 500; i += 1) await stage.write(tree, [text, { kind: 'note', size: 1000 }]);
    expect(sink.frames).toHaveLength(given);
    const { through } = feed;
    expect(through).toBeLessThan(stage.journal.head);
    sink.full = false;
    await feed.pump();
    expect(feed.through).toBe(stage.journal.head);
    expect(sink.seqs).toHaveLength(501);
    expect([...sink.texts]).toEqual(tree.text);
    // 500 kB of facts, in pages of 64 kB.
    expect(sink.frames.length - given).toBeLessThan(12);
    expect(Math.max(...sink.frames.map(({ length }) => length))).toBeLessThan(80 * 1024);
  });

  test('has no page read for it until it takes something', async () => {
    using stage = await new FeedStage().found();
    const [tree] = stage.trees as [Tree];
    for (let i = 0; i < 300; i += 1) await stage.write(tree, [{ kind: 'note', size: 1000 }]);
    const sink = new Reader();
    let pages = 0;
    // Full after each page.
    const full: Sink = {
      encoding: sink.encoding,
      get full() {
        return sink.frames.length > pages;
      },
      send: (bytes) => sink.send(bytes),
      failed: (error) => sink.failed(error),
    };
    const feed = stage.open(full);
    for (pages = 0; feed.through < stage.journal.head; pages += 1) {
      await feed.pump();
      expect(sink.frames).toHaveLength(pages + 1);
    }
    expect(pages).toBeGreaterThan(3);
    expect(sink.seqs).toHaveLength(301);
  });

  test('slows nobody down', async () => {
    using stage = await new FeedStage().found();
    const [tree] = stage.trees as [Tree];
    const [slow, quick] = [new Reader(), new Reader()];
    for (const sink of [slow, quick]) await stage.open(sink).pump();
    slow.full = true;
    await stage.write(tree, [note, text]);
    expect([slow.seqs.length, quick.seqs.length]).toEqual([1, 2]);
    expect([...quick.texts]).toEqual(tree.text);
  });
});

describe('the feed of all trees', () => {
  test('is in strict order of seq, in frames of one tree each', async () => {
    const trees = [new Tree('a'), new Tree('b'), new Tree('c')];
    using stage = await new FeedStage(trees).found();
    const [late, live] = [new Reader(), new Reader()];
    await stage.open(live, { tree: '*' }).pump();
    for (let i = 0; i < 60; i += 1) await stage.write(trees[(i * 7) % 3] as Tree, [text, note, note]);
    await stage.open(late, { tree: '*' }).pump();
    for (const sink of [live, late]) {
      expect(sink.seqs).toEqual(Array.from({ length: 123 }, (_, i) => i + 1));
      expect([...sink.texts].sort()).toEqual(trees.flatMap((tree) => tree.text));
    }
  });

  test('skips trees that have a feed of their own, and those of other owners', async () => {
    const trees = [new Tree('a'), new Tree('b'), new Tree('c', 'piet')];
    using stage = await new FeedStage(trees).found();
    const own: string[] = ['a'];
    const sink = new Reader();
    const feed = stage.open(sink, { tree: '*', owner: 'olga', except: () => own });
    await stage.write(trees[2] as Tree, [text]);
    await feed.pump();
    for (const tree of trees) await stage.write(tree, [text, note]);
    expect(new Set(sink.facts.map(({ tree }) => tree))).toEqual(new Set(['b']));
    expect([...sink.texts.keys()]).toEqual(['b m1 0']);
    own.pop();
    await stage.write(trees[0] as Tree, [note]);
    expect(sink.facts.at(-1)).toEqual({ tree: 'a', seq: stage.journal.head });
    expect(feed.through).toBe(stage.journal.head);
  });
});

describe('live text', () => {
  test('is given from position 0 to whoever reaches the head', async () => {
    using stage = await new FeedStage().found();
    const [tree] = stage.trees as [Tree];
    await stage.write(tree, [end, text, text]);
    const sink = new Reader();
    await stage.open(sink).pump();
    expect([...sink.texts]).toEqual([['a m2 0', '01234567890123456789']]);
    await stage.write(tree, [text]);
    expect([...sink.texts]).toEqual([['a m2 0', '012345678901234567890123456789']]);
    await stage.write(tree, [end]);
    expect([...sink.texts]).toEqual([]);
  });

  test('is left out for those who don’t want it, who are sent no empty frame', async () => {
    using stage = await new FeedStage().found();
    const [tree] = stage.trees as [Tree];
    await stage.write(tree, [text]);
    const sink = new Reader();
    await stage.open(sink, { deltas: false }).pump();
    const given = sink.frames.length;
    await stage.write(tree, [text]);
    expect(sink.frames).toHaveLength(given);
    await stage.write(tree, [text, note]);
    expect(sink.texts.size).toBe(0);
    expect(sink.seqs).toEqual([1, 2]);
  });
});

test('everybody at the head is sent the same bytes, encoded once for each encoding and class', async () => {
  using stage = await new FeedStage().found();
  const [tree] = stage.trees as [Tree];
  const classes = (['json', 'msgpack'] as const).flatMap((encoding) =>
    [true, false].map((deltas) => ({ encoding, deltas })),
  );
  const sinks = classes.map(({ encoding, deltas }) => {
    const pair = [new Reader(encoding), new Reader(encoding)] as const;
    return { pair, pumped: pair.map((sink) => stage.open(sink, { deltas }).pump()) };
  });
  await Promise.all(sinks.flatMap(({ pumped }) => pumped));
  await stage.write(tree, [text, note]);
  const sent = sinks.map(({ pair }) => pair.map((sink) => sink.frames.at(-1)));
  for (const [one, other] of sent) expect(one).toBe(other);
  expect(new Set(sent.flat()).size).toBe(classes.length);
});

test('a closed feed is given nothing more, not even a page that is being read', async () => {
  using stage = await new FeedStage().found();
  const [tree] = stage.trees as [Tree];
  const sink = new Reader();
  const feed = stage.open(sink);
  const pumped = feed.pump();
  stage.head.close(feed);
  await pumped;
  await stage.write(tree, [text, note]);
  await feed.pump();
  expect(sink.frames).toEqual([]);
  expect(stage.head.isWatched({ tree: 'a', owner: 'olga' })).toBe(false);
});
