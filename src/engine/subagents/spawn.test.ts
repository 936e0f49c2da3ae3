import { describe, expect, it } from "vitest";
import { START, virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type SettingsPart, testSettings } from "../../../test/kit/settings.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Tool } from "../../core/ports/tool.ts";
import type { Store } from "../../core/store/store.ts";
import { childrenOf, openFamily, records } from "./family.test-kit.ts";
import { permissionsOf } from "./permissions.ts";
import type { SubagentParts } from "./settings.ts";
import { type SpawnRequest, spawnSubagent } from "./spawn.ts";

const requester = (more: Partial<AgentRecord> = {}): AgentRecord =>
  ({
    id: "p",
    profile: "main",
    sessionKey: "agent:main:main",
    state: {},
    descriptor: { type: "user" },
    ...more,
  }) as never;
const childRequester = requester({
  sessionKey: "agent:main:subagent:x" as never,
  descriptor: { type: "subagent", id: "x", parentAgentId: "p", name: "x" },
});

interface Given {
  readonly settings?: SettingsPart;
  readonly parts?: SubagentParts;
  readonly open?: number;
}

function ports({ settings: part, parts = {}, open = 0 }: Given = {}): Parameters<typeof spawnSubagent>[0] {
  const store: Store = openMemoryStore();
  return {
    store: {
      ...store,
      openSubagentRuns: async () => open,
      agent: async (id: AgentId) => (id === ("p" as AgentId) ? requester() : undefined),
    } as Store,
    ids: seededIds("spawn"),
    clock: virtualClock(),
    tools: { list: () => [{ name: "read" } as Tool], find: () => undefined },
    settings: testSettings({ profiles: { coder: {} } }, part),
    parts,
  };
}

const spawn = (request: Partial<SpawnRequest>, given?: Given) =>
  spawnSubagent(ports(given), { tool: "sessions_spawn", requester: requester(), task: "dig", ...request });

const KEY = /^agent:(?:main|coder):subagent:[0-9a-f-]{36}$/u;
const accepted = (more: object = {}) => ({
  status: "accepted",
  childSessionKey: expect.stringMatching(KEY),
  runId: expect.any(String),
  ...more,
});
const within = (subagents: SettingsPart["subagents"]): Given => ({ settings: { subagents } });
const allow = (...allowAgents: string[]): Given => within({ allowAgents });
const bad = (text: string): Given => ({ parts: { checkModel: () => text } });

describe("sessions_spawn", () => {
  it.each<[string, Partial<SpawnRequest>, Given, object]>([
    ["accepts by default", {}, {}, accepted()],
    [
      "refuses a requester that is a child",
      { requester: childRequester },
      {},
      { status: "forbidden", error: "sessions_spawn is not allowed from sub-agent sessions" },
    ],
    [
      "refuses a child before it checks anything else",
      { requester: childRequester, agentId: "other", thinking: "much" },
      bad("invalid model"),
      { status: "forbidden", error: "sessions_spawn is not allowed from sub-agent sessions" },
    ],
    ["accepts a child if the depth allows it", { requester: childRequester }, within({ maxDepth: 2 }), accepted()],
    [
      "refuses another profile",
      { agentId: "Coder" },
      {},
      { status: "forbidden", error: "agentId is not allowed for sessions_spawn (allowed: none)" },
    ],
    [
      "refuses a profile that is not listed, before it checks the model",
      { agentId: "coder", model: "x" },
      { ...allow("Writer", " b "), ...bad("the provider is down") },
      { status: "forbidden", error: "agentId is not allowed for sessions_spawn (allowed: writer, b)" },
    ],
    ["accepts a listed profile in any case", { agentId: "Coder" }, allow("CODER"), accepted()],
    ["accepts any profile with *", { agentId: "coder" }, allow("*"), accepted()],
    ["accepts the requester's own profile", { agentId: " MAIN " }, {}, accepted()],
    [
      "refuses an unknown profile",
      { agentId: "ghost" },
      allow("*"),
      { status: "error", error: 'There is no agentId "ghost" in the configuration.' },
    ],
    ["applies the requested model", { model: "a/b" }, {}, accepted({ modelApplied: true })],
    ["applies the configured model", {}, within({ model: "a/b" }), accepted({ modelApplied: true })],
    [
      "accepts with a warning if the model is not valid",
      { model: "x" },
      bad("invalid model: x"),
      accepted({ modelApplied: false, warning: "invalid model: x" }),
    ],
    [
      "accepts with a warning if the model is not allowed",
      { model: "x" },
      bad("model not allowed: x"),
      accepted({ modelApplied: false, warning: "model not allowed: x" }),
    ],
    [
      "refuses if the model fails otherwise, before it checks the thinking level",
      { model: "x", thinking: "much" },
      bad("the provider is down"),
      { status: "error", error: "the provider is down", childSessionKey: expect.stringMatching(KEY) },
    ],
    [
      "refuses an unknown thinking level",
      { thinking: "Much" },
      {},
      {
        status: "error",
        error: 'Invalid thinking level "Much". Use one of: off, minimal, low, medium, high, xhigh.',
      },
    ],
    ["accepts a thinking level in any case", { thinking: " HIGH " }, {}, accepted()],
  ])("%s", async (_, request, settings, result) => {
    expect((await spawn(request, settings)).result).toEqual(result);
  });

  it("refuses if too many children are active", async () => {
    expect((await spawn({}, { ...within({ maxChildren: 3 }), open: 3 })).result).toEqual({
      status: "forbidden",
      error: "sessions_spawn has reached max active children for this session (3/3)",
    });
  });

  it.each([
    [1, 1, "sessions_spawn is not allowed from sub-agent sessions"],
    [1, 2, undefined],
    [2, 2, "sessions_spawn is not allowed at this depth (current depth: 2, max: 2)"],
    [2, 3, undefined],
    [3, 3, "sessions_spawn is not allowed at this depth (current depth: 3, max: 3)"],
  ])("at depth %i, with a limit of %i, refuses with: %s", async (depth, maxDepth, error) => {
    const agentAt = (level: number): AgentRecord =>
      level === 0
        ? requester({ id: "d0" as AgentId })
        : requester({
            id: `d${level}` as AgentId,
            sessionKey: `agent:main:subagent:d${level}` as never,
            descriptor: { type: "subagent", id: `d${level}`, parentAgentId: `d${level - 1}`, name: "x" },
          });
    const agent = async (id: AgentId) => agentAt(Number(id.slice(1)));
    const { result } = await spawnSubagent(
      { ...ports(within({ maxDepth })), store: { agent, openSubagentRuns: async () => 0 } as never },
      { tool: "sessions_spawn", requester: agentAt(depth), task: "dig" },
    );
    expect(result).toMatchObject(error === undefined ? { status: "accepted" } : { status: "forbidden", error });
  });

  it("has room for a child below the limit, and says which profile may be meant", async () => {
    expect((await spawn({}, { ...within({ maxChildren: 3 }), open: 2 })).result.status).toBe("accepted");
    expect((await spawn({ agentId: "codre" }, allow("*"))).result).toMatchObject({
      error: 'There is no agentId "codre" in the configuration. Did you mean "coder"?',
    });
  });

  it("creates the child with its record, under one run id, and nothing if it is refused", async () => {
    const { ops, result, childId } = await spawn({
      ...{ label: "digger", origin: { channel: "c", to: "t" }, person: "ann", cleanup: "delete" },
    });
    if (result.status !== "accepted") throw new TypeError(result.status);
    const { runId, childSessionKey } = result;
    expect(ops).toMatchObject([
      {
        ...{ op: "message.post", to: { sessionKey: childSessionKey, create: { id: childId } } },
        message: { asRun: runId, acceptedAt: START, body: { kind: "user", text: "dig", person: "ann" } },
      },
      {
        op: "subagent.put",
        record: {
          ...{ runId, childSessionKey, childAgentId: childId, requesterAgentId: "p", label: "digger", task: "dig" },
          ...{ requesterSessionKey: "agent:main:main", requesterOrigin: { channel: "c", to: "t" }, cleanup: "delete" },
          ...{ createdAt: START, startedAt: START },
        },
      },
    ]);
    expect((await spawn({ requester: childRequester })).ops).toEqual([]);
    expect((await spawn({})).ops[1]).toMatchObject({ record: { cleanup: "keep" } });
  });

  it("refuses if the requester is too deep in the tree", async () => {
    const deep = { ...childRequester, descriptor: { ...childRequester.descriptor, parentAgentId: "p" } } as AgentRecord;
    expect((await spawn({ requester: deep }, within({ maxDepth: 5 }))).result.status).toBe("accepted");
    const { store } = ports();
    const chain = { ...store, agent: async () => deep, openSubagentRuns: async () => 0 } as Store;
    const result = await spawnSubagent(
      { ...ports(within({ maxDepth: 5 })), store: chain },
      { tool: "sessions_spawn", requester: deep, task: "dig" },
    );
    expect(result.result).toMatchObject({
      status: "forbidden",
      error: expect.stringMatching(/^sessions_spawn is not allowed at this depth \(current depth: \d+, max: 5\)$/u),
    });
  });
});

describe("a child gets", () => {
  const stateOf = async (request: Partial<SpawnRequest>, settings: Given = {}) => {
    const [post] = (await spawn(request, settings)).ops;
    return post?.op === "message.post" && "create" in post.to
      ? { seed: post.to.create, message: post.message }
      : undefined;
  };

  it.each<[string, Partial<SpawnRequest>, Given, object]>([
    ["a label", { label: "  digger " }, {}, { label: "digger", spawnedBy: "agent:main:main" }],
    ["no label if it is blank", { label: "  " }, {}, { label: undefined }],
    ["the requested model", { model: "a/b" }, {}, { modelOverride: "a/b" }],
    ["no invalid model", { model: "x" }, bad("invalid model"), { modelOverride: undefined }],
    ["the target profile's thinking", {}, within({ thinking: "low" }), { thinkingLevel: "low" }],
    [
      "its parent's permissions",
      { requester: requester({ state: { permissions: { network: true } } as never }) },
      {},
      { permissions: { network: true } },
    ],
    [
      "no more tools than its parent under another profile",
      { agentId: "coder" },
      allow("*"),
      { inheritedTools: ["read"] },
    ],
    ["all tools of its profile under the same profile as its parent", {}, {}, { inheritedTools: undefined }],
  ])("%s", async (_, request, settings, state) => {
    const given: Record<string, unknown> = (await stateOf(request, settings))?.seed?.state ?? {};
    for (const [field, value] of Object.entries(state)) expect(given[field]).toEqual(value);
  });

  it("its task as its prompt, and its time limit", async () => {
    const given = await stateOf({ runTimeoutSeconds: 90.7 });
    expect(given?.seed?.state.extraSystemPrompt).toMatch(
      /^# Subagent Context\n.*- You were created to handle: dig\n/su,
    );
    expect(given?.message).toMatchObject({ body: { text: "dig", wishes: { timeoutSeconds: 90 } } });
    expect((await stateOf({ runTimeoutSeconds: 0 }))?.message.body).toEqual({ kind: "user", text: "dig" });
  });

  it.each([
    [["@network"], { network: true }, { network: true }],
    [["@read:/a/b"], { readDirs: ["/a"] }, { readDirs: ["/a/b"] }],
    [["@read:/a"], { writeDirs: ["/a/"] }, { readDirs: ["/a"] }],
    [["@write:/a/c"], { writeDirs: ["/a"] }, { writeDirs: ["/a/c"] }],
    [[], { network: true, readDirs: ["/a"] }, {}],
    [["@read:/etc"], { readDirs: ["/"] }, { readDirs: ["/etc"] }],
    [
      [" @network ", "@read:/a", "@read:/b/c", "@write:/b"],
      { network: true, readDirs: ["/a"], writeDirs: ["/b"] },
      { network: true, readDirs: ["/a", "/b/c"], writeDirs: ["/b"] },
    ],
  ])("the requested permissions that its parent has: %j", (tags, parent, permissions) => {
    expect(permissionsOf(tags, parent)).toEqual(permissions);
  });

  it.each([
    ["@network", {}],
    ["@write:/a", { readDirs: ["/a"] }],
    ["@read:/a/../etc", { readDirs: ["/a"] }],
    ["@read:a", { readDirs: ["/a"] }],
    ["@read:/ab", { readDirs: ["/a"] }],
    ["@root", { network: true }],
    ["@networks", { network: true }],
    ["network", { network: true }],
    ["@read:/a/./b", { readDirs: ["/a"] }],
    ["@write:/a", {}],
    ["@read:", { readDirs: ["/a"] }],
    ["@read:a/b", { readDirs: ["a"] }],
  ])("no permission that its parent lacks: %s", (tag, parent) => {
    expect(() => permissionsOf([tag], parent)).toThrow(`Cannot attach permission '${tag}' - you don't have it.`);
  });
});

describe("start_background_agent", () => {
  const last = async (with_: Record<string, unknown>): Promise<string> => {
    const engine = await openFamily({ tool: "start_background_agent", spawn: with_ });
    await engine.tell("spawn dig");
    const said = (await engine.transcript()).find((line) => line.startsWith("tool: ")) ?? "";
    const [child] = await childrenOf(engine);
    return child ? said.replace(child.id, "<id>") : said;
  };

  it.each([
    [{}, "tool: Background agent started: <id>."],
    [{ prompt: "  " }, "tool: Background agent prompt is required"],
    [{ permissions: ["@network"] }, "tool: Cannot attach permission '@network' - you don't have it."],
  ])("with %j answers %s", async (with_, said) => {
    expect(await last(with_)).toBe(said);
  });

  it("names its child subagent by default, and registers it like any other child", async () => {
    const engine = await openFamily({ tool: "start_background_agent" });
    await engine.tell("spawn dig");
    expect((await childrenOf(engine)).map(({ descriptor }) => descriptor)).toMatchObject([{ name: "subagent" }]);
    expect(await records(engine)).toMatchObject([{ task: "task dig", outcome: { status: "ok" }, cleanup: "keep" }]);
  });
});

describe("a spawn", () => {
  it("is committed together with its tool result", async () => {
    const engine = await openFamily();
    await engine.tell("spawn dig");
    const spawned = engine.commits.filter(({ ops }) => ops.some(({ op }) => op === "subagent.put"))[0];
    expect(spawned?.site).toBe("result");
    expect(spawned?.ops.map(({ op }) => op)).toEqual(["message.post", "subagent.put", "run.step", "entries.append"]);
  });

  it("returns the id of the run that the child then has", async () => {
    const engine = await openFamily();
    await engine.tell("spawn dig");
    const [child] = await childrenOf(engine);
    const [record] = await records(engine);
    expect((await engine.runs(child?.id)).map(({ id }) => id)).toEqual([record?.runId]);
    expect(record).toMatchObject({
      childSessionKey: child?.sessionKey,
      requesterSessionKey: expect.stringContaining("agent:main:"),
      requesterOrigin: { channel: "test", to: "ann" },
      startedAt: START,
      archiveAtMs: START + 3_600_000,
    });
  });
});

describe("the name under which a child knows its requester", () => {
  it.each([
    ["agent:main:main", undefined, "main"],
    ["agent:work:main", undefined, "main"],
    ["agent:main:home", "home", "home"],
    ["agent:main:main", "home", "agent:main:main"],
    ["agent:main:test:dm:ann", undefined, "agent:main:test:dm:ann"],
    ["agent:main:a:main", undefined, "agent:main:a:main"],
    ["main", undefined, "main"],
  ])("of %s, where the main one is called %s, is %s", async (sessionKey, mainKey, shown) => {
    const asking = requester({ sessionKey: sessionKey as never });
    const made = await spawnSubagent(ports({ settings: { session: { mainKey: mainKey ?? "main" } } }), {
      tool: "sessions_spawn",
      requester: asking,
      task: "dig",
    });
    expect(made.ops).toContainEqual(
      expect.objectContaining({
        op: "subagent.put",
        record: expect.objectContaining({ requesterSessionKey: sessionKey, requesterDisplayKey: shown }),
      }),
    );
  });
});
