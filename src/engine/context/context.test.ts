import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededIds } from "../../../test/kit/ids.ts";
import { type Entry, entryLine } from "../../core/history/entry.ts";
import type { AgentId, EntryId } from "../../core/ids.ts";
import { entryId } from "../../core/ids.ts";
import type { Line, StoreReader } from "../../core/store/store.ts";
import { buildHistoryContext } from "./context.ts";
import { chain, type EntryDraft, firstLines, resetMarker } from "./entries.ts";

const AGENT = "agent0000000000000000000" as AgentId;
const ids = seededIds("context");

/** A history in memory that counts the lines and pages that are read. */
class History {
  readonly lines: string[];
  leaf: EntryId;
  pages = 0;
  read = 0;

  constructor() {
    const first = firstLines(ids, {
      descriptor: { type: "heartbeat" },
      sessionId: "s1" as never,
      at: 1_000,
    });
    this.lines = [...first.lines];
    this.leaf = first.leaf;
  }

  append(...bare: readonly EntryDraft[]): readonly EntryId[] {
    const { entries, leaf } = chain(ids, { nextPos: this.lines.length, leaf: this.leaf }, bare);
    this.lines.push(...entries.map(entryLine));
    this.leaf = leaf;
    return entries.map((entry) => entry.id as EntryId);
  }

  raw(line: string): void {
    this.lines.push(line);
  }

  get store(): StoreReader {
    const linesBack = async (
      _agent: AgentId,
      { before = this.lines.length, limit }: { before?: number; limit: number },
    ) => {
      this.pages += 1;
      if (this.pages > 1_000) throw new TypeError("this never ends");
      const from = Math.max(0, before - limit);
      const page = this.lines.slice(from, before).map((line, index): Line => ({ position: from + index, line }));
      this.read += page.length;
      return page.reverse();
    };
    return { linesBack } as unknown as StoreReader;
  }

  async context(leaf = this.leaf) {
    const { messages, skipped } = await buildHistoryContext(this.store, AGENT, leaf);
    const texts = messages.map(({ content }) =>
      content.map((block) => (block.type === "text" ? block.text : block.type)).join(" "),
    );
    return { texts, skipped, messages };
  }
}

const said = (role: "user" | "assistant", words: string): EntryDraft => ({
  type: "message",
  role,
  content: [{ type: "text", text: words }],
  timestamp: 1,
});
const compaction = (summary: string, firstKeptEntryId: EntryId): EntryDraft => ({
  type: "compaction",
  summary,
  firstKeptEntryId,
  tokensBefore: 9,
});

describe("the context", () => {
  it("of a new agent is empty", async () => {
    expect((await new History().context()).texts).toEqual([]);
  });

  it("is everything after the start", async () => {
    const history = new History();
    history.append(said("user", "one"), said("assistant", "two"));
    expect((await history.context()).texts).toEqual(["one", "two"]);
  });

  it("is everything after the last reset, and begins with the text of the reset if it has one", async () => {
    const history = new History();
    history.append(said("user", "one"), resetMarker("s2" as never, 2), said("user", "two"));
    expect((await history.context()).texts).toEqual(["two"]);
    history.append(resetMarker("s3" as never, 3, "be kind"), said("user", "three"));
    expect((await history.context()).texts).toEqual([
      `<system_message origin="${AGENT}">be kind</system_message>`,
      "three",
    ]);
  });

  it("after a compaction is its summary, the entries it kept, and later entries", async () => {
    const history = new History();
    const [, , kept] = history.append(
      said("user", "1"),
      said("assistant", "2"),
      said("user", "3"),
      said("assistant", "4"),
    );
    history.append(compaction("one and two", kept as EntryId), said("user", "5"));
    const { texts } = await history.context();
    expect(texts[0]).toContain("<summary>\none and two\n</summary>");
    expect(texts.slice(1)).toEqual(["3", "4", "5"]);
  });

  it("after two compactions follows the last one only", async () => {
    const history = new History();
    const [, two] = history.append(said("user", "1"), said("assistant", "2"));
    history.append(compaction("first", two as EntryId), said("user", "3"));
    const [four] = history.append(said("assistant", "4"));
    history.append(compaction("second", four as EntryId), said("user", "5"));
    const { texts } = await history.context();
    expect(texts[0]).toContain("second");
    expect(texts.slice(1)).toEqual(["4", "5"]);
  });

  it("after a compaction whose first kept entry is gone is its summary and later entries", async () => {
    const history = new History();
    history.append(said("user", "1"), said("assistant", "2"));
    const gone = entryId(2, "00000000-0000-7000-8000-00000000dead");
    history.append(compaction("one and two", gone), said("user", "3"));
    const { texts } = await history.context();
    expect(texts).toEqual([expect.stringContaining("one and two"), "3"]);
  });

  it("follows the branch of the leaf", async () => {
    const history = new History();
    const [one] = history.append(said("user", "one"));
    history.append(said("assistant", "left"));
    history.leaf = one as EntryId;
    history.append(said("assistant", "right"));
    expect((await history.context()).texts).toEqual(["one", "right"]);
  });

  it("keeps entries of an unknown type in the chain, skips them and reports them", async () => {
    const history = new History();
    history.append(said("user", "one"));
    const id = entryId(history.lines.length, ids.uuid());
    history.raw(JSON.stringify({ type: "hologram", id, parentId: history.leaf, data: 1 }));
    history.leaf = id;
    history.append(said("assistant", "two"));
    const { texts, skipped } = await history.context();
    expect(texts).toEqual(["one", "two"]);
    expect(skipped).toEqual([{ position: 3, reason: "unknown type hologram" }]);
  });

  it("reports a broken line and has the entries after it", async () => {
    const history = new History();
    history.append(said("user", "one"), said("assistant", "two"), said("user", "three"));
    history.lines[3] = '{"type":"message","id":';
    const { texts, skipped } = await history.context();
    expect(texts).toEqual(["three"]);
    expect(skipped).toMatchObject([{ position: 3 }]);
  });

  it("reports a missing parent and does not read the whole history to find it", async () => {
    const history = new History();
    for (let n = 0; n < 3_000; n++) history.append(said("user", `n${n}`));
    history.leaf = entryId(2_999, "00000000-0000-7000-8000-00000000dead");
    const { texts, skipped } = await history.context();
    expect(texts).toEqual([]);
    expect(skipped).toMatchObject([{ reason: expect.stringContaining("missing") }]);
    expect(history.read).toBeLessThan(500);
  });

  it("is finite even if the parents form a circle", async () => {
    const history = new History();
    const [one, two] = history.append(said("user", "one"), said("assistant", "two"));
    const entry = JSON.parse(history.lines[2] as string) as Entry & { parentId: string };
    entry.parentId = two as string;
    history.lines[2] = JSON.stringify(entry);
    expect((await history.context()).texts).toEqual(["one", "two"]);
    const own = JSON.parse(history.lines[2] as string) as { parentId: string };
    own.parentId = one as string;
    history.lines[2] = JSON.stringify(own);
    expect((await history.context()).texts).toEqual(["one", "two"]);
  });

  it("of a long history costs only the part that it keeps", async () => {
    const history = new History();
    for (let n = 0; n < 5_000; n++) history.append(said("user", `n${n}`));
    history.append(resetMarker("s2" as never, 2), said("user", "short"));
    expect((await history.context()).texts).toEqual(["short"]);
    expect(history.pages).toBe(1);

    const [kept] = history.append(said("user", "kept"));
    history.append(compaction("all of it", kept as EntryId));
    history.pages = 0;
    expect((await history.context()).texts.slice(1)).toEqual(["kept"]);
    expect(history.pages).toBe(1);
  });

  it("has the same bytes each time it is built", async () => {
    const history = new History();
    history.append(said("user", "one"), said("assistant", "two"));
    const first = JSON.stringify((await history.context()).messages);
    expect(JSON.stringify((await history.context()).messages)).toBe(first);
  });

  it("never throws and never hangs, whatever the lines contain", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.string(),
            fc.json(),
            fc
              .record({
                type: fc.constantFrom("message", "compaction", "reset", "x"),
                id: fc.string(),
                parentId: fc.string(),
              })
              .map((one) => JSON.stringify(one)),
          ),
          { maxLength: 20 },
        ),
        async (lines) => {
          const history = new History();
          for (const line of lines) history.raw(line);
          await history.context();
        },
      ),
    );
  });
});

describe("entries", () => {
  it("of a chain are each the child of the one before, and their ids contain their positions", () => {
    const { entries, leaf, position } = chain(ids, { nextPos: 7, leaf: "root" as EntryId }, [
      said("user", "a"),
      said("assistant", "b"),
    ]);
    expect(position).toBe(7);
    expect(entries.map((entry) => ("parentId" in entry ? entry.parentId : undefined))).toEqual([
      "root",
      entries[0]?.id,
    ]);
    expect(leaf).toBe(entries[1]?.id);
    expect(entries.map(({ id }) => Number.parseInt(id.slice(0, 8), 16))).toEqual([7, 8]);
  });

  it("of a new history are the header with the descriptor and the start marker", () => {
    const { lines, leaf } = firstLines(ids, { descriptor: { type: "heartbeat" }, sessionId: "s" as never, at: 5 });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { type: "session", version: 2, id: "s", descriptor: { type: "heartbeat" } },
      { type: "start", id: leaf, parentId: null, sessionId: "s", timestamp: 5 },
    ]);
  });
});
