/** The path from a leaf to the beginning, out of a history with branches, gaps and lines that cannot be read. */
import { expect, test } from "vitest";
import type { AgentId, EntryId } from "../../core/ids.ts";
import { type SkippedLine, walkBack } from "./walk-back.ts";

const AGENT = "a" as AgentId;
const idOf = (n: number): EntryId => `${n.toString(16).padStart(8, "0")}-0000-8000-8000-000000000000` as EntryId;
const said = (n: number, parent: number | null = n === 0 ? null : n - 1): string =>
  JSON.stringify({
    ...{ type: "message", id: idOf(n), parentId: parent === null ? null : idOf(parent), role: "user" },
    ...{ content: [{ type: "text", text: `${n}` }], timestamp: n },
  });
const later = (n: number, parent = n - 1): string =>
  JSON.stringify({ type: "of a later version", id: idOf(n), parentId: idOf(parent) });

/** A line by its position; undefined: it is gone. */
function storeOf(lines: readonly (string | undefined)[]) {
  const pages: number[] = [];
  const all = lines.flatMap((line, position) => (line === undefined ? [] : [{ position, line }]));
  return {
    pages,
    linesBack: async (_agent: AgentId, { before, limit }: { before?: number; limit: number }) => {
      pages.push(limit);
      return all
        .filter(({ position }) => before === undefined || position < before)
        .slice(-limit)
        .reverse();
    },
  };
}

async function walk(lines: readonly (string | undefined)[], leaf: number) {
  const skipped: SkippedLine[] = [];
  const found: string[] = [];
  for await (const { id } of walkBack(storeOf(lines) as never, AGENT, idOf(leaf), skipped)) found.push(id);
  return { path: found.map((id) => Number.parseInt(id.slice(0, 8), 16)), skipped };
}

test.each<[string, (string | undefined)[], number, number[], SkippedLine[]]>([
  ["a line of entries", [said(0), said(1), said(2)], 2, [2, 1, 0], []],
  ["an earlier leaf", [said(0), said(1), said(2)], 1, [1, 0], []],
  ["a branch that was left", [said(0), said(1), said(2), said(3, 0)], 3, [3, 0], []],
  [
    "an entry of a later version",
    [said(0), later(1), said(2)],
    2,
    [2, 0],
    [{ position: 1, reason: "unknown type of a later version" }],
  ],
  ["one beside the path", [said(0), later(1), said(2, 0)], 2, [2, 0], []],
  ["an entry that is gone", [said(0), undefined, said(2)], 2, [2], [{ position: 1, reason: "missing" }]],
])("%s", async (_title, lines, leaf, path, skipped) => {
  expect(await walk(lines, leaf)).toEqual({ path, skipped });
});

test("a line that cannot be read is reported once and ends the path, also if no one asks for the report", async () => {
  const lines = [said(0), "{oops", said(2)];
  const { path, skipped } = await walk(lines, 2);
  expect(path).toEqual([2]);
  expect(skipped).toMatchObject([{ position: 1, reason: expect.stringMatching(/^not JSON/u) }]);
  const found: string[] = [];
  for await (const { id } of walkBack(storeOf(lines) as never, AGENT, idOf(2))) found.push(id);
  expect(found).toEqual([idOf(2)]);
});

test("pages grow from 64 to 1,024 lines, and a reader who stops early reads one", async () => {
  const store = storeOf(Array.from({ length: 5_000 }, (_, n) => said(n)));
  let count = 0;
  for await (const entry of walkBack(store as never, AGENT, idOf(4_999))) count += entry.type === "message" ? 1 : 0;
  expect(count).toBe(5_000);
  expect(store.pages).toEqual([64, 128, 256, 512, 1_024, 1_024, 1_024, 1_024]);
  store.pages.length = 0;
  for await (const _ of walkBack(store as never, AGENT, idOf(4_999))) break;
  expect(store.pages).toEqual([64]);
});

test("an empty history has no path", async () => {
  expect(await walk([], 3)).toEqual({ path: [], skipped: [] });
});
