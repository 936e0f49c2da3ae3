/** Generates histories for property tests: turns with tool calls, images, steering, branches and entries without content. */

import fc from "fast-check";
import { seededIds } from "../../../../test/kit/ids.ts";
import { type Block, type Entry, entryLine, readEntry } from "../../../core/history/entry.ts";
import type { AgentId, EntryId, RunId, SessionId } from "../../../core/ids.ts";
import { contextOf } from "../context.ts";
import { chain, type EntryDraft, resetMarker } from "../entries.ts";
import { estimateMessages } from "./estimate-tokens.ts";

export const AGENT = "agent0000000000000000000" as AgentId;

export interface TurnShape {
  readonly words: number;
  readonly image: boolean;
  readonly rounds: readonly { readonly calls: number; readonly output: number; readonly image: boolean }[];
  readonly steered: boolean;
  readonly quiet: boolean;
  /** A branch that was left: entries beside the path. */
  readonly branch: boolean;
  readonly usage: boolean;
}

export const turnShape: fc.Arbitrary<TurnShape> = fc.record({
  words: fc.integer({ min: 1, max: 400 }),
  image: fc.boolean(),
  rounds: fc.array(
    fc.record({
      calls: fc.integer({ min: 1, max: 3 }),
      output: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 2_000, max: 12_000 })),
      image: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  steered: fc.boolean(),
  quiet: fc.boolean(),
  branch: fc.boolean(),
  usage: fc.boolean(),
});

/** A history in memory: every line, and the path to the tip. */
export class MadeHistory {
  readonly lines: string[] = [];
  path: Entry[] = [];
  leaf: EntryId = "none" as EntryId;
  #calls = 0;
  #turns = 0;

  constructor() {
    this.append([{ type: "start", sessionId: "s1" as SessionId, timestamp: 1 } as EntryDraft]);
  }

  readonly ids = seededIds("history");

  append(bare: readonly EntryDraft[]): readonly Entry[] {
    const { entries, leaf } = chain(this.ids, { nextPos: this.lines.length, leaf: this.leaf }, bare);
    this.lines.push(...entries.map(entryLine));
    this.path.push(...entries);
    this.leaf = leaf;
    return entries;
  }

  reset(): void {
    this.append([resetMarker("s2" as SessionId, 2, "begin anew")]);
    this.path = this.path.slice(-1);
  }

  turn(shape: TurnShape): void {
    const n = ++this.#turns;
    const runId = `run-${n}` as RunId;
    const said = (role: "user" | "assistant", content: Block[], more: object = {}): EntryDraft =>
      ({ type: "message", role, content, timestamp: n, runId, ...more }) as EntryDraft;
    const text = (words: string): Block => ({ type: "text", text: words });
    const image: Block = { type: "image", data: "A".repeat(50_000), mimeType: "image/png" };
    const asked = `request ${n} \`FACT-${n}\` ${"word ".repeat(shape.words)}`;
    this.append([said("user", [text(asked), ...(shape.image ? [image] : [])])]);
    if (shape.quiet) this.append([{ type: "custom", name: "note", data: n } as EntryDraft]);
    if (shape.branch) this.#branch(said("assistant", [text(`left ${n}`)]));
    shape.rounds.forEach((round, index) => {
      const ids = Array.from({ length: round.calls }, () => `call-${++this.#calls}`);
      const calls = ids.map((id): Block => ({ type: "toolCall", id, name: "read", arguments: { path: `/f/${id}` } }));
      this.append([said("assistant", [text(`thinking of ${n}`), ...calls], { stopReason: "tool_calls" })]);
      this.append(
        ids.map((toolCallId) => {
          const content = [text("o".repeat(round.output)), ...(round.image ? [image] : [])];
          return { ...said("user", content), role: "tool", toolCallId, toolName: "read", isError: false } as EntryDraft;
        }),
      );
      if (shape.steered && index === 0) this.append([said("user", [text(`and also ${n}`)])]);
    });
    // Counted differently from how it is estimated, as providers do.
    const input = 2 * estimateMessages(contextOf(AGENT, this.path).messages);
    const usage = { input, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
    this.append([said("assistant", [text(`answer ${n}`)], { stopReason: "stop", ...(shape.usage ? { usage } : {}) })]);
  }

  /** Entries beside the path: a branch that was left by going back to an earlier entry. */
  #branch(bare: EntryDraft): void {
    const { path, leaf } = this;
    this.path = [...path];
    this.append([bare, bare]);
    this.path = path;
    this.leaf = leaf;
  }

  /** The path as another process would read it. */
  reread(): readonly Entry[] {
    const byId = new Map<string, Entry>();
    for (const line of this.lines) {
      const read = readEntry(line);
      if (read.kind === "entry") byId.set(read.entry.id, read.entry);
    }
    const path: Entry[] = [];
    for (let at: string | null = this.leaf; at !== null; ) {
      const entry = byId.get(at);
      if (!entry || entry.type === "session") break;
      path.push(entry);
      if (entry.type === "start" || entry.type === "reset") break;
      at = entry.parentId;
    }
    return path.reverse();
  }
}
