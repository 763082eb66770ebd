/** The text of messages that the CLI is writing, placed by message, block and position. */
import type { StreamEvent } from './lines.ts';

type BlockKind = 'text' | 'thinking' | 'input';

/** A piece of live text: `text` stands at position `at` (UTF-16 units) of that block. */
export type LivePiece = {
  message: string;
  block: number;
  parentToolUse?: string;
  kind: BlockKind;
  at: number;
  text: string;
  /** On an input block's first piece. */
  tool?: { id: string; name: string };
};

type Block = { kind: BlockKind; text: string; cut: boolean; tool?: { id: string; name: string } };
type OpenMessage = { id: string; parent?: string; from: number; settled: number; blocks: Map<number, Block> };

/** Longer live text isn't kept or sent as it grows; the complete message brings it. UTF-16 units. */
const longest: Record<BlockKind, number> = { text: 4_194_304, thinking: 4_194_304, input: 65_536 };

const blockKinds: Record<string, BlockKind> = { text: 'text', thinking: 'thinking', tool_use: 'input' };

export class LiveText {
  /** At most one message is open for each `parent_tool_use_id` (the main thread's key is empty). */
  readonly #open = new Map<string, OpenMessage>();

  /**
   * Takes in a stream event of the line that begins at byte `from`. Gives the piece that it adds, and what
   * broke off because another message began.
   */
  take(event: StreamEvent, from: number, parent?: string): { piece?: LivePiece; broken: LivePiece[] } {
    const key = parent ?? '';
    switch (event.type) {
      case 'message_start': {
        const broken = this.#close(key);
        this.#open.set(key, {
          id: event.message,
          from,
          settled: 0,
          blocks: new Map(),
          ...(parent && { parent }),
        });
        return { broken };
      }
      case 'content_block_start': {
        const kind = blockKinds[event.block.type];
        if (!kind) return { broken: [] };
        const { id, name } = event.block;
        this.#open.get(key)?.blocks.set(event.index, {
          kind,
          text: '',
          cut: false,
          ...(id !== undefined && name !== undefined && { tool: { id, name } }),
        });
        return { broken: [] };
      }
      case 'content_block_delta': {
        const piece = this.#append(key, event);
        return { broken: [], ...(piece && { piece }) };
      }
      case 'message_stop':
        return { broken: this.#close(key) };
      default:
        event satisfies never;
        return { broken: [] };
    }
  }

  #append(key: string, event: Extract<StreamEvent, { type: 'content_block_delta' }>): LivePiece | undefined {
    const message = this.#open.get(key);
    const block = message?.blocks.get(event.index);
    if (!message || !block) return undefined;
    // Once cut it stays cut: a later, shorter piece would stand at a wrong position.
    block.cut ||= block.text.length + event.text.length > longest[block.kind];
    if (block.cut) return undefined;
    const at = block.text.length;
    block.text += event.text;
    return piece(message, event.index, block, { at, text: event.text });
  }

  /** The next complete block of a message has come as a line of its own and replaces the live text. */
  settleNext(message: string, parent?: string): void {
    const open = this.#open.get(parent ?? '');
    if (open?.id !== message) return;
    open.blocks.delete(open.settled);
    open.settled += 1;
  }

  /** First byte of the oldest unfinished message's first line. */
  get oldest(): number | undefined {
    const starts = [...this.#open.values()].map((message) => message.from);
    return starts.length > 0 ? Math.min(...starts) : undefined;
  }

  /** All unfinished text so far, each block from position 0. */
  soFar(): LivePiece[] {
    return [...this.#open.values()].flatMap(pieces);
  }

  /** Ends every open message: the text that no complete message will bring. */
  breakOff(): LivePiece[] {
    return [...this.#open.keys()].flatMap((key) => this.#close(key));
  }

  #close(key: string): LivePiece[] {
    const message = this.#open.get(key);
    this.#open.delete(key);
    return message ? pieces(message) : [];
  }
}

function pieces(message: OpenMessage): LivePiece[] {
  return [...message.blocks]
    .filter(([, block]) => block.text !== '')
    .map(([index, block]) => piece(message, index, block, { at: 0, text: block.text }));
}

function piece(
  message: OpenMessage,
  index: number,
  block: Block,
  part: { at: number; text: string },
): LivePiece {
  return {
    message: message.id,
    block: index,
    ...(message.parent && { parentToolUse: message.parent }),
    kind: block.kind,
    ...part,
    ...(part.at === 0 && block.tool && { tool: block.tool }),
  };
}
