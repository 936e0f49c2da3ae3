/** What an actor gets from its node: settings with their defaults, read at each use, and who is told what its runs commit. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Op } from "../../../core/store/change.ts";
import type { NodeRecord } from "../../../core/store/store.ts";
import type { AgentSystemOptions } from "../agent-system-options.ts";
import { actorHostOf } from "./actor-host.ts";

const NOW = 5_000;
const agent = (type = "user", more: object = {}): AgentRecord =>
  ({ id: "a1", profile: "main", descriptor: { type }, state: {}, ...more }) as unknown as AgentRecord;

const AT_TERMINAL = { type: "user", connector: "terminal", userId: "ann", channelId: "ann" };
/** One tool, which writes a path. */
const TOOLS = {
  known: () => ({
    ...{
      name: "write",
      rights: ["write"],
      input: { safeParseAsync: async (data: unknown) => ({ success: true, data }) },
    },
    effects: async () => [{ action: "write", rights: ["write"], detail: { kind: "path", path: "/w/x" } }],
  }),
};

function world(options: Partial<AgentSystemOptions> = {}, nodes: readonly object[] = []) {
  const told: unknown[] = [];
  let reads = 0;
  const clock = virtualClock(NOW);
  const store = {
    nodes: async () => {
      reads += 1;
      return nodes as readonly NodeRecord[];
    },
    // Of a swarm's contact, and of a parent that is a swarm.
    agent: async (id: string) => (id === "a9" ? agent("user", { descriptor: AT_TERMINAL }) : agent("swarm")),
  };
  const asked: object[] = [];
  const model = { call: async (request: object) => void asked.push(request) };
  const child = (name: string) => async (_agent: unknown, _what: unknown, why: unknown) => [{ op: name, why }];
  const parts = {
    ...{ node: 7, lanes: "lanes", queue: "queue", trials: "trials", fates: "fates", events: "events" },
    ...{ restoring: () => true, draining: () => false, emit: (event: unknown) => void told.push(event) },
    subagents: {
      opsOnRunEnd: child("child.end"),
      opsOnSettle: child("child.settle"),
      committed: (ops: unknown) => void told.push(["committed", ops]),
      stopChildren: (of: unknown) => ["stopped", of],
    },
    outbox: { offer: (...all: unknown[]) => void told.push(["offered", ...all]) },
    people: { setsRoute: "sets", addressOf: async () => ({}), personOf: "person" },
    directory: {
      recent: async () => ({ personOf: (id: string) => id, record: () => undefined }),
      now: async () => ({
        ...{ revision: 1, personOf: (id: string) => id },
        standing: (person: string) => ({ person, role: "guest", grants: [] }),
      }),
    },
    approvals: { asked: (dueAt: number) => void told.push(["asked", dueAt]) },
    answerCommand: "answer",
  };
  const settings = { nodeName: "here", resolveModel: () => ({}), ...options } as unknown as AgentSystemOptions;
  const host = actorHostOf({ store, clock, model, tools: TOOLS } as never, settings, parts as never);
  return { host, ports: host.ports, told, asked, clock, settings, reads: () => reads };
}

describe("a host", () => {
  it("resumes by default, finds no session stale, and knows when it began", async () => {
    const { host, clock } = world();
    await clock.advance(100);
    expect(host).toMatchObject({ restore: "resume", startedAt: NOW, node: 7, lanes: "lanes", fates: "fates" });
    expect(host.isStale(agent(), 1, 2)).toBe(false);
    const other = world({ restore: "discard", isStale: (_agent, last, now) => now - last > 5 }).host;
    expect([other.restore, other.isStale(agent(), 1, 7), other.isStale(agent(), 1, 6)]).toEqual([
      "discard",
      true,
      false,
    ]);
  });

  it("gives an actor no part that belongs to its node alone", () => {
    const { host } = world();
    expect(Object.keys(host).sort()).toEqual(
      ["draining", "elsewhere", "emit", "fates", "isStale", "lanes", "node", "ports", "queue"].concat(
        ...["restore", "restoring", "startedAt", "trials"],
      ),
    );
  });
});

describe("the node that an agent's runs belong to", () => {
  const node = (name: string, number: number, more: object = {}) => ({
    ...{ name, node: number, leaseUntil: NOW + 1, left: false },
    ...more,
  });
  const wants = (name: string | undefined) => ({ rights: { rules: { nodeOf: () => name } as never } });

  test.each<[string, string | undefined, readonly object[], number | undefined]>([
    ["none is named", undefined, [node("builder", 3)], undefined],
    ["this one is named", "here", [node("here", 3)], undefined],
    ["it lives", "builder", [node("other", 2), node("builder", 3), node("third", 4)], 3],
    ["it lives, with its process in its name", "builder", [node("builder pid 9", 3)], 3],
    ["there is none", "builder", [node("other", 2)], undefined],
    ["it has this node's number", "builder", [node("builder", 7)], undefined],
    ["it has left", "builder", [node("builder", 3, { left: true })], undefined],
    ["it returned under another number", "builder", [node("builder", 3, { returned: true })], undefined],
    ["its lease ends now", "builder", [node("builder", 3, { leaseUntil: NOW })], undefined],
    ["two have the name: the newer one", "builder", [node("builder", 3), node("builder", 4)], 4],
    ["the newer one has left", "builder", [node("builder", 3), node("builder", 4, { left: true })], 3],
  ])("if %s", async (_title, name, nodes, expected) => {
    expect(await world(wants(name), nodes).host.elsewhere(agent())).toBe(expected);
  });

  it("is looked up only if the agent names another", async () => {
    const none = world(wants("here"));
    await none.host.elsewhere(agent());
    const without = world();
    await without.host.elsewhere(agent());
    expect([none.reads(), without.reads()]).toEqual([0, 0]);
  });
});

describe("the ports of a run", () => {
  it("have limits for texts, which are read at each use", async () => {
    const { ports, asked, settings } = world();
    const ask = () => ports.model.call({} as never, new AbortController().signal, () => {}).catch(() => undefined);
    expect(ports.textLimits?.()).toMatchObject({ answerCharacters: 1_000_000 });
    await ask();
    Object.assign(settings, { textLimits: { messageCharacters: 1, toolResultCharacters: 2, answerCharacters: 3 } });
    expect(ports.textLimits?.()).toMatchObject({ toolResultCharacters: 2 });
    await ask();
    expect(asked).toMatchObject([{ maxCharacters: 1_000_000 }, { maxCharacters: 3 }]);
  });

  it("have budgets as they are now, with the people of the directory", async () => {
    const { ports, settings } = world();
    expect(ports.budgets).toBeUndefined();
    Object.assign(settings, { budgets: { anything: 1 } });
    expect(ports.budgets).toMatchObject({ anything: 1 });
    expect(await ports.budgets?.personNow?.("ann" as never)).toMatchObject({ id: "ann" });
  });

  it("are the ports of the node, the hooks of its triggers and the notes of its watchdog", async () => {
    const replyOf = () => undefined;
    const { ports } = world({ hooks: { replyOf } as never });
    expect(ports).toMatchObject({ tools: TOOLS, replyOf, personOf: "person", setsRoute: "sets" });
    expect(typeof ports.watchdogNotes?.of).toBe("function");
    const watchdogNotes = { of: async () => undefined, counted: async () => undefined };
    expect(world({ watchdogNotes }).ports.watchdogNotes).toBe(watchdogNotes);
  });

  it("show files only if there are any", async () => {
    expect(world().ports.showFiles).toBeUndefined();
    expect(await world({ files: {} as never }).ports.showFiles?.("a1" as never, [])).toEqual([]);
  });

  test.each<[string, Record<string, string>, readonly string[] | undefined, boolean]>([
    ["nothing is said", {}, undefined, true],
    ["its profile may write", { main: "rw" }, undefined, true],
    ["its profile may read", { main: "ro" }, undefined, false],
    ["one that it inherits may only read", { main: "rw", parent: "rw", root: "none" }, ["parent", "root"], false],
    ["all that it inherits may write", { main: "rw", parent: "rw" }, ["parent"], true],
    ["only what it inherits may write", { main: "ro", parent: "rw" }, ["parent"], false],
  ])("write to the workspace if every profile may: %s", (_title, access, inheritedProfiles, expected) => {
    const rules = { workspaceAccessOf: (name: string) => access[name] } as never;
    const { ports } = world({ rights: { rules } });
    expect(ports.writesWorkspace?.(agent("subagent", { state: { inheritedProfiles } }))).toBe(expected);
    expect(world().ports.writesWorkspace?.(agent())).toBe(true);
  });

  test.each([
    ["user", ["hook"]],
    ["subagent", ["child", "hook"]],
  ])("end a run and a message of a %s with what is owed to others: %j", async (type, owners) => {
    const hook = (name: string) => async () => [{ op: name }] as unknown as Op[];
    const { ports } = world({ hooks: { opsOnRunEnd: hook("hook.end"), opsOnSettle: hook("hook.settle") } });
    const names = (ops: readonly Op[] | undefined) => ops?.map(({ op }) => op as string);
    const ended = await ports.opsOnRunEnd?.(agent(type), {} as never, {} as never, []);
    const settled = await ports.opsOnSettle?.(agent(type), [], "why");
    expect(names(ended)).toEqual(owners.map((owner) => `${owner}.end`));
    expect(names(settled)).toEqual(owners.map((owner) => `${owner}.settle`));
    const bare = world().ports;
    expect(await bare.opsOnRunEnd?.(agent(), {} as never, {} as never, [])).toEqual([]);
    expect(await bare.opsOnSettle?.(agent(), [], "why")).toEqual([]);
  });

  it("tell the parts of the node what was committed", () => {
    const { ports, told } = world();
    ports.onAddedOps?.(["op"] as never);
    ports.onDeliveries(["delivery"] as never, ["result"] as never);
    ports.posted(["one", "two"] as never);
    ports.approvals?.asked(9);
    expect(told).toEqual([
      ["committed", ["op"]],
      ["offered", ["delivery"], ["result"]],
      { type: "posted", posted: "one" },
      { type: "posted", posted: "two" },
      ["asked", 9],
    ]);
    expect(ports.stopChildren?.(agent())).toEqual(["stopped", agent()]);
  });
});

describe("the gate of a node", () => {
  /** Judges one call that writes a path, for an agent without a record of who it works for. */
  async function judged(rights: object, type = "user", more: Partial<AgentSystemOptions> = {}) {
    const seen: { people?: readonly unknown[]; around?: object }[] = [];
    const rules = {
      nodeOf: () => "builder",
      partiesOf: (_agent: unknown, people: readonly unknown[], around: object) => {
        seen.push({ people, around });
        return [];
      },
    };
    const { ports } = world({ rights: { rules, ...rights } as never, ...more }, [{ name: "one" }, { name: "two" }]);
    const call = { callId: "c1", name: "write", arguments: {}, state: "asked" };
    const descriptor = { ...AT_TERMINAL, type, contact: "a9", parentAgentId: "p1" };
    const asking = agent(type, { descriptor });
    const judgement = await ports.gate?.judge(asking, { id: "r1", body: {} } as never, [call] as never);
    return { ...seen[0], call: judgement?.calls[0] };
  }

  it("knows the nodes of the cluster, and the place of an agent only if it is told", async () => {
    const place = { workspace: "/w" };
    expect(await judged({ placeOf: async () => place })).toMatchObject({ around: { place, nodes: ["one", "two"] } });
    expect((await judged({})).around).toMatchObject({ place: undefined });
  });

  test.each<[string, string, Partial<AgentSystemOptions>, readonly string[]]>([
    ["the owner at the terminal", "user", {}, ["owner"]],
    ["another, if the settings say so", "user", { isOwner: () => false }, ["terminal:ann"]],
    ["the contact of a swarm", "swarm", {}, ["owner"]],
    ["no one, for a child of a swarm", "subagent", {}, []],
  ])("judges an agent that names no one by %s", async (_title, type, more, people) => {
    expect((await judged({}, type, more)).people).toEqual(people);
  });
});
