/** Reading histories from their end: pages that grow, sessions, what entered the last turn; and small parts of prompts. */

import { describe, expect, test } from "vitest";
import { seededIds } from "../../../test/kit/ids.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { type AgentId, type EntryId, entryId, type SessionId } from "../../core/ids.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import { alternateRoles, isRoleOrderError } from "./alternate-roles.ts";
import { isFlushDue } from "./memory-flush.ts";
import { channelPrompt } from "./prompt/channel-prompt.ts";
import { buildSubagentSystemPrompt, isSubagentContext } from "./prompt/subagent-prompt.ts";
import { seedAgent } from "./seed-agent.ts";
import { readSession } from "./session-entries.ts";
import { turnMemory } from "./turn-memory.ts";
import { type SkippedLine, walkBack } from "./walk-back.ts";

const AGENT = "a".repeat(24) as AgentId;
const uuid = "00000000-0000-7000-8000-000000000000";
const idAt = (n: number): EntryId => entryId(n, uuid);

/** Lines by their position, and the pages that were asked for. */
function history(lines: readonly (object | string)[]) {
  const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  const limits: number[] = [];
  const store = {
    linesBack: async (_id: AgentId, { before = texts.length, limit }: { before?: number; limit: number }) => {
      limits.push(limit);
      return texts
        .map((line, position) => ({ position, line }))
        .slice(Math.max(0, before - limit), before)
        .reverse();
    },
  };
  return { store: store as never, limits };
}
const said = (n: number, more: object = {}) => ({
  ...{ type: "message", id: idAt(n), parentId: n === 0 ? null : idAt(n - 1), role: "user", timestamp: n },
  ...{ content: [{ type: "text", text: `t${n}` }], ...more },
});
const start = (n: number, sessionId: string, more: object = {}) => ({
  ...{ type: "start", id: idAt(n), parentId: n === 0 ? null : idAt(n - 1), sessionId, timestamp: n, ...more },
});

describe("walking back", () => {
  const walk = async (lines: readonly (object | string)[], leaf: EntryId, steps = Number.POSITIVE_INFINITY) => {
    const { store, limits } = history(lines);
    const skipped: SkippedLine[] = [];
    const ids: string[] = [];
    for await (const entry of walkBack(store, AGENT, leaf, skipped)) {
      ids.push(entry.id);
      if (ids.length >= steps) break;
    }
    return { ids, limits, skipped };
  };
  test("reads pages that grow from 64 to 1,024, and no more than it needs", async () => {
    const lines = Array.from({ length: 3_000 }, (_, n) => said(n));
    expect((await walk(lines, idAt(2_999), 64)).limits).toEqual([64]);
    expect((await walk(lines, idAt(2_999), 65)).limits).toEqual([64, 128]);
    const all = await walk(lines, idAt(2_999));
    expect(all.ids).toHaveLength(3_000);
    expect(all.limits).toEqual([64, 128, 256, 512, 1_024, 1_024]);
  });
  test("follows the parents, and says what it could not read", async () => {
    const lines = [
      said(0),
      said(1),
      said(2, { parentId: idAt(0) }),
      "{",
      { type: "dream", id: idAt(4), parentId: idAt(2) },
      said(5),
    ];
    const { ids, skipped } = await walk(lines, idAt(5));
    expect(ids).toEqual([idAt(5), idAt(2), idAt(0)]);
    expect(skipped).toEqual([
      { position: 4, reason: "unknown type dream" },
      { position: 3, reason: expect.stringContaining("not JSON") },
    ]);
  });
  test("ends at a parent that is missing, which it names once", async () => {
    const { ids, skipped } = await walk([said(0), said(9), said(2, { parentId: idAt(1) })], idAt(2));
    expect(ids).toEqual([idAt(2)]);
    expect(skipped).toEqual([{ position: 1, reason: "missing" }]);
    const broken = await walk([said(0), "{", said(2)], idAt(2));
    expect(broken.skipped).toMatchObject([{ position: 1, reason: expect.stringContaining("not JSON") }]);
  });
  test("of a session's header or of nothing is empty", async () => {
    expect((await walk([{ type: "session", version: 2, id: "s", timestamp: "t" }], "s" as EntryId)).ids).toEqual([]);
    expect((await walk([], idAt(0))).ids).toEqual([]);
  });
});

describe("one session of a history", () => {
  const lines = [start(0, "s1"), said(1), said(2), start(3, "s2"), said(4), "{", start(6, "s3"), said(7)];
  const read = async (sessionId: string, all: readonly (object | string)[] = lines) => {
    const { store, limits } = history(all);
    return { ...(await readSession(store, AGENT, sessionId as SessionId)), limits };
  };
  test("has its lines from its marker on, and the tip it had", async () => {
    const second = await read("s2");
    expect(second.lines).toHaveLength(3);
    expect(second.entries.map(({ id }) => id)).toEqual([idAt(3), idAt(4)]);
    expect(second.lastLeaf).toBe(idAt(5));
    expect((await read("s3")).lastLeaf).toBeUndefined();
    expect((await read("s1")).entries).toHaveLength(3);
    expect((await read("s1")).lastLeaf).toBe(idAt(2));
  });
  test("that does not exist is empty", async () => {
    expect(await read("s9")).toMatchObject({ lines: [], entries: [], limits: [64] });
  });
  test("may lie behind many pages", async () => {
    const long = [start(0, "s1"), ...Array.from({ length: 2_499 }, (_, n) => said(n + 1))];
    const found = await read("s1", long);
    expect(found.lines).toHaveLength(2_500);
    expect(found.limits).toEqual([64, 128, 256, 512, 1_024, 1_024]);
    expect((await read("s1", long.slice(0, 64))).limits).toEqual([64]);
    expect((await read("s9", long.slice(0, 64))).limits).toEqual([64, 128]);
  });
});

describe("what entered the last turn", () => {
  const report = {
    chars: 9,
    missing: ["USER.md"],
    parts: [
      { name: "SOUL.md", source: "file", chars: 5 },
      { name: "MEMORY.md", source: "file", chars: 12, cutFrom: 20, limit: 10, untrusted: true },
      { name: "cut", source: "file", chars: 8, cutFrom: 8 },
    ],
  };
  const tool = (n: number, runId: string | undefined, toolName: string, text: string, more: object = {}) =>
    said(n, {
      role: "tool",
      runId,
      toolName,
      content: [
        { type: "text", text },
        { type: "thinking", thinking: "long" },
      ],
      ...more,
    });
  const memory = (lines: readonly (object | string)[], state: object = { systemPromptReport: report }) => {
    const { store, limits } = history(lines);
    return turnMemory(store, { id: AGENT, state: state as never }).then((found) => ({ found, limits }));
  };
  test("is not known before the first one", async () => {
    expect((await memory([], {})).found).toBeUndefined();
  });
  test("has the parts of the prompt, and what is missing of them", async () => {
    const { found } = await memory([]);
    expect(found).toMatchObject({ characters: 9, tokens: 3, absent: ["USER.md"], lookups: [] });
    expect(found?.parts).toEqual([
      {
        part: "SOUL.md",
        source: "file",
        characters: 5,
        tokens: 2,
        limit: undefined,
        missing: undefined,
        untrusted: undefined,
      },
      { part: "MEMORY.md", source: "file", characters: 12, tokens: 3, limit: 10, missing: 10, untrusted: true },
      { part: "cut", source: "file", characters: 8, tokens: 2, limit: undefined, missing: 1, untrusted: undefined },
    ]);
  });
  test("has the lookups of the last run, in order", async () => {
    const lines = [
      tool(0, "r1", "memory_search", "old"),
      said(1, { runId: "r2" }),
      tool(2, "r2", "memory_search", "four", { untrusted: { from: "web" } }),
      tool(3, "r2", "read", "other tool"),
      said(4),
      tool(5, "r2", "skill", "sixsix"),
      said(6, { runId: "r2", role: "assistant" }),
    ];
    const { found, limits } = await memory(lines);
    expect(found?.runId).toBe("r2");
    expect(found?.lookups).toEqual([
      { tool: "memory_search", characters: 4, untrusted: true },
      { tool: "skill", characters: 6, untrusted: undefined },
    ]);
    expect(limits).toEqual([400]);
  });
});

describe("turns that take turns", () => {
  const message = (role: ModelMessage["role"], text: string): ModelMessage => ({
    role,
    content: [{ type: "text", text }],
  });
  const calls: ModelMessage = { role: "assistant", content: [{ type: "toolCall", id: "c", name: "n", arguments: {} }] };
  const shape = (messages: readonly ModelMessage[]) =>
    alternateRoles(messages).map(
      ({ role, content }) =>
        `${role} ${content.map((block) => (block.type === "text" ? block.text : block.type)).join("+")}`,
    );
  test("join neighbours of one role, and begin with a person", () => {
    expect(
      shape([message("user", "a"), message("user", "b"), message("assistant", "c"), message("assistant", "d")]),
    ).toEqual(["user a+b", "assistant c+d"]);
    expect(shape([message("assistant", "a")])).toEqual(["user (The conversation goes on.)", "assistant a"]);
    expect(shape([])).toEqual([]);
  });
  test("do not join a call or its results", () => {
    expect(
      shape([message("user", "a"), message("assistant", "b"), calls, message("tool", "r"), message("tool", "s")]),
    ).toEqual([...["user a", "assistant b", "assistant toolCall", "tool r", "tool s"]]);
    expect(shape([message("user", "a"), calls, message("assistant", "b")])).toEqual([
      "user a",
      "assistant toolCall",
      "assistant b",
    ]);
  });
  test.each([
    [{ class: "request", message: "roles must alternate" }, true],
    [{ class: "request", message: "First message must use the user role" }, true],
    [{ class: "transient", message: "roles must alternate" }, false],
    [{ class: "request", message: "invalid key" }, false],
  ])("%j is about them: %s", (error, is) => {
    expect(isRoleOrderError(error)).toBe(is);
  });
});

describe("the turn for notes before a compaction", () => {
  const due = (more: { record?: object; tokens?: number; limits?: object; rights?: string[]; writes?: boolean } = {}) =>
    isFlushDue(
      {
        tools: { list: () => [{ rights: ["read"] }, { rights: more.rights ?? ["write"] }] } as never,
        settings: testSettings({ profiles: { main: { workspaceAccess: more.writes === false ? "ro" : "rw" } } }),
      },
      { record: { profile: "main", descriptor: { type: "user" }, state: {}, ...more.record } } as never,
      {
        ...{ tokens: more.tokens ?? 100, overhead: 0, thresholds: { flush: 100, emergency: 200 } },
        limits: { enabled: true, memoryFlush: { enabled: true }, ...more.limits },
      } as never,
    );
  test.each<[string, Parameters<typeof due>[0], boolean]>([
    ["at its threshold", {}, true],
    ["below it", { tokens: 99 }, false],
    ["just before the emergency", { tokens: 199 }, true],
    ["in the emergency", { tokens: 200 }, false],
    ["if compaction is off", { limits: { enabled: false } }, false],
    ["if it is off itself", { limits: { memoryFlush: { enabled: false } } }, false],
    ["for a schedule", { record: { descriptor: { type: "cron" } } }, false],
    ["for the heartbeat", { record: { descriptor: { type: "heartbeat" } } }, false],
    ["for a child", { record: { descriptor: { type: "subagent" } } }, false],
    ["for a permanent agent", { record: { descriptor: { type: "permanent" } } }, true],
    ["once per cycle, also the first", { record: { state: { memoryFlushCompactionCount: 0 } } }, false],
    ["again in the next cycle", { record: { state: { memoryFlushCompactionCount: 0, compactionCount: 1 } } }, true],
    ["not without a tool that writes", { rights: ["exec"] }, false],
    ["not where it may not write", { writes: false }, false],
    ["where it may", { writes: true }, true],
  ])("is due %s: %s", (_title, more, is) => {
    expect(due(more)).toBe(is);
  });
});

describe("small parts of prompts", () => {
  const agent = (state: object, more: object = {}): AgentRecord =>
    ({ descriptor: { type: "user", connector: "chat", userId: "1", channelId: "1", ...more }, state }) as never;
  const prompt = (state: object, connector: object = {}, owners: string[] = []) =>
    channelPrompt(
      agent(state, { accountId: "acc" }),
      new Map([["chat", { capabilities: {}, ...connector } as never]]),
      owners,
    );
  const READS = "You get the messages that address you, with some of what was said before.";
  test.each<[string, object, string[], string]>([
    [
      "a group without a name",
      { chatType: "group" },
      [],
      `You are in a group. ${READS} Everyone there reads what you write.`,
    ],
    [
      "a room",
      { chatType: "room", subject: "S" },
      [],
      `You are in the group "S". ${READS} Everyone there reads what you write.`,
    ],
    [
      "a topic",
      { chatType: "group", subject: "S", groupChannel: " T\n1 " },
      [],
      `You are in "T 1" in the group "S". ${READS} Everyone there reads what you write.`,
    ],
    [
      "a space",
      { chatType: "group", subject: "S", space: "X" },
      [],
      `You are in the group "S" of "X". ${READS} Everyone there reads what you write.`,
    ],
    [
      "a space of the same name",
      { chatType: "group", subject: "S", space: "S" },
      [],
      `You are in the group "S". ${READS} Everyone there reads what you write.`,
    ],
    [
      "a group with the owner",
      { chatType: "group" },
      ["chat:7", "other:8", "chat:9"],
      `You are in a group. ${READS} Everyone there reads what you write. The owner writes there as chat:7, chat:9.`,
    ],
    ["a direct chat", { chatType: "direct", subject: "S" }, ["chat:7"], ""],
  ])("in %s", (_title, state, owners, text) => {
    expect(prompt(state, {}, owners)).toBe(text);
  });
  test("an account that answers everything says so, unless someone there said otherwise", () => {
    const asked: unknown[] = [];
    const connector = {
      groupActivation: (where: unknown) => {
        asked.push(where);
        return "always";
      },
    };
    expect(prompt({ chatType: "group" }, connector)).toContain("You get every message.");
    expect(prompt({ chatType: "group", groupActivation: "mention" }, connector)).toContain("address you");
    prompt({ chatType: "group", deliveryContext: { channel: "chat", to: "5" } }, connector);
    expect(asked).toEqual([{ accountId: "acc" }, { channel: "chat", to: "5" }]);
  });
  test("what a channel and a group say is bounded", () => {
    expect(prompt({}, { capabilities: { formatPrompt: "f".repeat(2_001) } })).toHaveLength(2_000);
    expect(prompt({ chatType: "group", subject: "s".repeat(201) })).toContain(`"${"s".repeat(200)}"`);
    expect(prompt({ chatType: "group" }, { capabilities: { formatPrompt: "F" } })).toMatch(/^F\nYou are in/);
  });
  test("a child is told its task in one line", () => {
    expect(buildSubagentSystemPrompt({ task: " dig\n deep ", label: "L" })).toContain(
      "- You were created to handle: dig deep\n",
    );
    expect(buildSubagentSystemPrompt({ label: "L" })).toContain("handle: L\n");
    expect(buildSubagentSystemPrompt({ task: " " })).toContain("handle: the task you are given\n");
    expect(isSubagentContext(buildSubagentSystemPrompt({}))).toBe(true);
    expect(isSubagentContext("x # Subagent Context")).toBe(false);
  });
  test.each<[object, object]>([
    [
      {},
      { chatType: "direct", channel: undefined, groupId: undefined, origin: { provider: "test", from: "7", to: "c7" } },
    ],
    [
      { peerKind: "group", accountId: "a" },
      { chatType: "group", channel: "test", groupId: "c7", origin: { accountId: "a" } },
    ],
    [{ peerKind: "channel" }, { chatType: "room", channel: "test", groupId: "c7" }],
  ])("a new conversation %j knows where it is", (more, state) => {
    const seed = seedAgent(
      seededIds("seed"),
      { type: "user", connector: "test", userId: "7", channelId: "c7", ...more },
      5,
    );
    expect(seed).toMatchObject({ profile: "main", createdAt: 5, state });
    expect(seedAgent(seededIds("seed"), { type: "heartbeat" }, 5).state.chatType).toBeUndefined();
  });
});
