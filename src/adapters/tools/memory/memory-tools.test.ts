import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import type { SearchHit, SearchRequest } from "../../../core/search/search-index.ts";
import { noMarks } from "../files/file-marks.ts";
import type { MemoryDeps } from "./memory-deps.ts";
import { memoryGetTool } from "./memory-get-tool.ts";
import { memorySearchTool } from "./memory-search-tool.ts";

const directory = mkdtempSync(join(tmpdir(), "rookery-memory-"));
beforeAll(() => {
  mkdirSync(join(directory, "memory"));
  writeFileSync(
    join(directory, "memory", "2026-11-01.md"),
    Array.from({ length: 200 }, (_, n) => `line ${n + 1}`).join("\n"),
  );
  writeFileSync(join(directory, "secret.md"), "secret");
  symlinkSync(join(directory, "secret.md"), join(directory, "MEMORY.md"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const agentOf = (name: string, person: string, state: object = {}): AgentRecord =>
  ({
    id: name.padStart(24, "0"),
    sessionKey: `agent:main:${name}`,
    person,
    state,
    descriptor: { type: "user" },
  }) as never;
const mine = agentOf("mine", "owner");
const marked = agentOf("marked", "owner", { untrusted: true, speakers: ["telegram:9"] });
const eves = agentOf("eves", "eve");
const lines = ["first", "the walrus", "answer", "last"].map((text, position) => ({
  position,
  line: JSON.stringify({
    type: "message",
    id: `e${position}`,
    parentId: null,
    role: position % 2 ? "assistant" : "user",
    content: [{ type: "text", text }],
    timestamp: 1_750_000_000_000,
  }),
}));

const asked: SearchRequest[] = [];
let hits: readonly SearchHit[] = [];
const deps: MemoryDeps = {
  index: {
    search: async (request: SearchRequest) => {
      asked.push(request);
      return hits;
    },
  } as never,
  store: {
    agent: async (id: AgentId) => [mine, marked, eves].find((agent) => agent.id === id),
    linesBack: async (_: AgentId, { before = 9 }) => lines.filter(({ position }) => position < before).toReversed(),
  } as never,
  people: async () =>
    ({
      personOf: (id: PersonId) => (id === "telegram:1" ? "ann" : id),
      record: (id: PersonId) => (id === "ann" ? { accounts: ["telegram:1"] } : undefined),
    }) as never,
  directoryOf: async () => directory,
  marks: noMarks,
};
const context = (agent: AgentRecord, person?: string): ToolContext =>
  ({ agent, agentId: agent.id, behalf: person === undefined ? undefined : { person } }) as never;
const text = ({ content }: ToolOutput): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join();
const hitIn = (agent: AgentRecord, more: Partial<SearchHit> = {}): SearchHit => ({
  ...{
    source: "conversation",
    ref: `chat:${agent.id}#1`,
    speaker: "user",
    at: 1_750_000_000_000,
    snippet: "the walrus",
    score: 1,
  },
  ...{ agentId: agent.id, sessionKey: agent.sessionKey, position: 1, ...more },
});

it("searches what belongs to the run's person, under all of the person's names, and the agent's notes only for that person", async () => {
  asked.length = 0;
  const search = memorySearchTool(deps);
  await search.execute({ query: "walrus" }, context(mine));
  await search.execute({ query: "walrus" }, context(agentOf("anns", "telegram:1"), "ann"));
  await search.execute({ query: "walrus" }, context(mine, "eve"));
  await search.execute({ query: "walrus" }, context({ ...mine, person: undefined }));
  expect(asked.map(({ people, notes }) => [people, notes])).toEqual([
    [["owner"], [directory]],
    [["ann", "telegram:1"], [directory]],
    [["eve"], []],
    [[], []],
  ]);
});

it("shows date, speaker and reference of each hit, and hands on who spoke and the mark of untrusted text", async () => {
  hits = [hitIn(mine)];
  const plain = await memorySearchTool(deps).execute({ query: "walrus" }, context(mine));
  expect(text(plain)).toBe(`[chat:${mine.id}#1] 2025-06-15 15:06 person in agent:main:mine\nthe walrus`);
  expect(plain.untrusted).toBeUndefined();
  hits = [hitIn(mine), hitIn(marked)];
  const other = await memorySearchTool(deps).execute({ query: "walrus" }, context(mine));
  expect(other.untrusted).toEqual({ from: `agent:${marked.id}` });
  expect(JSON.stringify(other.heard)).toContain("telegram:9");
  hits = [hitIn(mine, { untrusted: "tool:web_fetch" })];
  const page = await memorySearchTool(deps).execute({ query: "walrus" }, context(mine));
  expect(page.untrusted).toEqual({ from: "tool:web_fetch" });
  hits = [];
  expect(text(await memorySearchTool(deps).execute({ query: "x" }, context(mine)))).toBe("Nothing was found.");
});

it("marks a note that was written with untrusted text in context", async () => {
  const path = "memory/2026-11-01.md";
  hits = [
    {
      ...hitIn(mine),
      agentId: undefined,
      source: "note",
      speaker: "note",
      directory,
      path,
      line: 1,
      ref: `note:${path}#1`,
    },
  ];
  const marks = { ...noMarks, isEmpty: false, has: () => true };
  expect((await memorySearchTool({ ...deps, marks }).execute({ query: "x" }, context(mine))).untrusted).toEqual({
    from: `file:${path}`,
  });
  expect((await memoryGetTool({ ...deps, marks }).execute({ ref: path }, context(mine))).untrusted).toEqual({
    from: `file:${path}`,
  });
});

it("shows what stands around a hit, for the same person only", async () => {
  const get = memoryGetTool(deps);
  const shown = text(await get.execute({ ref: `chat:${mine.id}#1`, around: 1 }, context(mine)));
  expect(shown).toContain("person: first");
  expect(shown).toContain("agent: the walrus");
  expect(shown).toContain("person: answer");
  expect(shown).not.toContain("last");
  await expect(get.execute({ ref: `chat:${eves.id}#1` }, context(mine))).rejects.toThrow("There is no memory");
  await expect(get.execute({ ref: `chat:${mine.id}#1` }, context(mine, "eve"))).rejects.toThrow("There is no memory");
});

it("shows a part of a note, and no other file", async () => {
  const get = memoryGetTool(deps);
  const shown = text(await get.execute({ ref: "note:memory/2026-11-01.md#100" }, context(mine)));
  expect(shown).toContain("from line 95:\nline 95\n");
  expect(shown).toContain("[46 more lines: ask for memory/2026-11-01.md#160]");
  for (const ref of [
    "secret.md",
    "note:secret.md#1",
    "memory/../secret.md",
    "../x",
    "MEMORY.md",
    "/etc/passwd",
    "chat:x#1",
    "",
  ])
    await expect(get.execute({ ref }, context(mine))).rejects.toThrow("There is no memory");
  await expect(get.execute({ ref: "memory/2026-11-01.md" }, context(mine, "eve"))).rejects.toThrow(
    "There is no memory",
  );
});

it("says that a store of the program has no index", async () => {
  await expect(memorySearchTool({ ...deps, index: undefined }).execute({ query: "x" }, context(mine))).rejects.toThrow(
    "no search index",
  );
});
