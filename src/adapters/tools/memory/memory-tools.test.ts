import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import type { SearchHit, SearchRequest } from "../../../core/search/search-index.ts";
import { noMarks } from "../files/file-marks.ts";
import { ON_DISK, type TrustedFiles } from "../files/prompt-guard.ts";
import type { MemoryDeps } from "./memory-deps.ts";
import { memoryGetTool } from "./memory-get-tool.ts";
import { memorySearchTool } from "./memory-search-tool.ts";

const directory = mkdtempSync(join(tmpdir(), "rookery-memory-"));
const NOTE = Array.from({ length: 200 }, (_, n) => `line ${n + 1}`).join("\n");
beforeAll(() => {
  mkdirSync(join(directory, "memory"));
  writeFileSync(join(directory, "memory", "2026-11-01.md"), NOTE);
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
  const part = async (line: number) => text(await get.execute({ ref: `memory/2026-11-01.md#${line}` }, context(mine)));
  // Going on shows the next line first.
  expect(await part(160)).toMatch(/from line 155:\nline 155\n[\s\S]*\nline 200$/);
  expect(await part(1)).toMatch(
    /from line 1:\nline 1\n[\s\S]*\nline 60\n\[140 more lines: ask for memory\/2026-11-01\.md#66\]$/,
  );
  expect(await part(999_999_999)).toMatch(/from line 195:/);
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

it.each<[string, TrustedFiles["of"], boolean]>([
  ["counts as the disk has it", () => ON_DISK, true],
  ["counts as a text that the disk has too", () => ({ is: "text", bytes: Buffer.from(NOTE) }), true],
  ["was changed by a running command", () => ({ is: "text", bytes: Buffer.from("as it was") }), false],
  ["was made by a running command", () => ({ is: "absent" }), false],
])("finds a note that %s: %s", async (_, of, isFound) => {
  const path = "memory/2026-11-01.md";
  hits = [
    { ...hitIn(mine), agentId: undefined, source: "note", speaker: "note", directory, path, ref: `note:${path}#1` },
    hitIn(mine),
  ];
  const guard = { of: (at: string) => (at === join(directory, path) ? of(at) : ON_DISK), names: () => undefined };
  const found = text(await memorySearchTool({ ...deps, guard }).execute({ query: "x" }, context(mine)));
  expect([found.includes(path), found.includes(mine.sessionKey)]).toEqual([isFound, true]);
  const shown = memoryGetTool({ ...deps, guard }).execute({ ref: path }, context(mine));
  const kind = of("").is;
  if (kind === "absent") await expect(shown).rejects.toThrow("There is no memory");
  else expect(text(await shown)).toContain(isFound ? "line 1\n" : "as it was");
});

it("shows no note that a running command has made, and every one that it has hidden", async () => {
  const guard: TrustedFiles = {
    of: (path) => (path.endsWith("hidden.md") ? { is: "text", bytes: Buffer.from("still here") } : { is: "absent" }),
    names: () => ["hidden.md"],
  };
  const get = memoryGetTool({ ...deps, guard });
  const plain = await get.execute({ ref: "memory/hidden.md" }, context(mine));
  expect([text(plain).includes("still here"), plain.untrusted]).toEqual([true, undefined]);
  const marks = { ...noMarks, isEmpty: false, knows: (path: string) => path.endsWith("memory/hidden.md") };
  const kept = await memoryGetTool({ ...deps, guard, marks }).execute({ ref: "memory/hidden.md" }, context(mine));
  expect(kept.untrusted).toEqual({ from: "file:memory/hidden.md" });
  await expect(get.execute({ ref: "memory/2026-11-01.md" }, context(mine))).rejects.toThrow("There is no memory");
});

describe("what memory_get shows of a conversation", () => {
  type Line = { readonly role: string; readonly text: string; readonly untrusted?: string };
  const withLines = (said: readonly Line[]): MemoryDeps => {
    const all = said.map(({ role, text: words, untrusted }, position) => ({
      position,
      line: JSON.stringify({
        ...{ type: "message", id: `e${position}`, parentId: null, role, timestamp: 0 },
        ...{ content: [{ type: "text", text: words }], untrusted: untrusted && { from: untrusted } },
      }),
    }));
    const linesBack = async (_: AgentId, { before = 99, limit }: { before?: number; limit: number }) =>
      all
        .filter(({ position }) => position < before)
        .toReversed()
        .slice(0, limit);
    return { ...deps, store: { ...deps.store, linesBack } as never };
  };
  const tool = (untrusted?: string): Line => ({ role: "tool", text: "page", untrusted });
  const user = (words: string, untrusted?: string): Line => ({ role: "user", text: words, untrusted });
  const agent = (words: string): Line => ({ role: "assistant", text: words });
  const get = (said: readonly Line[], at: number, around?: number) =>
    memoryGetTool(withLines(said)).execute({ ref: `chat:${mine.id}#${at}`, around }, context(mine));

  it.each<[string, readonly Line[], number, number, boolean]>([
    ["the message itself", [user("a", "web:x")], 0, 0, true],
    ["a message that is shown in the place of a tool's result", [tool(), tool(), user("a", "web:x")], 0, 0, true],
    [
      "the message before it, behind many calls",
      [user("a", "web:x"), ...Array(4).fill(tool()), agent("b")],
      5,
      1,
      true,
    ],
    ["what a tool read before the answer", [user("a"), tool("tool:web_fetch"), agent("b")], 2, 0, true],
    ["nothing", [user("a"), tool(), agent("b")], 2, 1, false],
    ["a message far away", [user("a", "web:x"), ...Array(40).fill(tool()), agent("b")], 41, 1, false],
  ])("has the mark of %s", async (_, said, at, around, isMarked) => {
    expect((await get(said, at, around)).untrusted !== undefined).toBe(isMarked);
  });

  it("is so many messages before and after it, four if nothing is said", async () => {
    const said = Array.from({ length: 30 }, (_, n) => (n % 2 ? agent(`m${n}`) : user(`m${n}`)));
    const shown = async (at: number, around?: number) =>
      [...text(await get(said, at, around)).matchAll(/: (m\d+)/g)].map(([, name]) => name);
    expect(await shown(10, 0)).toEqual(["m10"]);
    expect(await shown(10, 2)).toEqual(["m8", "m9", "m10", "m11", "m12"]);
    expect(await shown(10)).toHaveLength(9);
    expect(await shown(0, 1)).toEqual(["m0", "m1", "m2"]);
    expect(await shown(29, 1)).toEqual(["m28", "m29"]);
    await expect(get([tool()], 0, 1)).rejects.toThrow("There is no memory");
  });
});

it("shows nothing of an agent that was removed, belongs to no one, or is named by a text that is no id", async () => {
  const records = [
    { ...mine, stopped: { at: 1, removed: true } },
    { ...mine, person: undefined },
  ];
  for (const record of records) {
    const store = { ...deps.store, agent: async () => record } as never;
    const got = memoryGetTool({ ...deps, store }).execute({ ref: `chat:${mine.id}#1` }, context(mine));
    await expect(got).rejects.toThrow("There is no memory");
  }
});

it("asks for six hits, and for as many as the call says", async () => {
  asked.length = 0;
  await memorySearchTool(deps).execute({ query: "x" }, context(mine));
  await memorySearchTool(deps).execute({ query: "x", limit: 3 }, context(mine));
  expect(asked.map(({ limit }) => limit)).toEqual([6, 3]);
  const { input } = memorySearchTool(deps);
  expect([20, 21, 0].map((limit) => input.safeParse({ query: "x", limit }).success)).toEqual([true, false, false]);
});

it("says that a store of the program has no index", async () => {
  await expect(memorySearchTool({ ...deps, index: undefined }).execute({ query: "x" }, context(mine))).rejects.toThrow(
    "no search index",
  );
});
