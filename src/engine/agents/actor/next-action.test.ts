/** An actor handles failed commits and changes of the store in between. No caller hears of an end before it is durable. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { inTurn } from "../../../../test/kit/model.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import { OWNER } from "../../../core/people/person.ts";
import type { Change } from "../../../core/store/change.ts";
import type { AcceptResult } from "../../inbox/accept.ts";

const GUIDE: AgentDescriptor = {
  ...{ type: "permanent", id: "9".repeat(24), name: "guide", description: "old", systemPrompt: "old prompt" },
};
const settles = ({ ops }: Pick<Change, "ops">): boolean => ops.some(({ op }) => op === "message.settle");
function accepted(result: AcceptResult): Exclude<AcceptResult, { status: "stale" }> {
  if (result.status === "stale") throw new TypeError("not accepted");
  return result;
}

describe("a message that needs no run", () => {
  const CASES: Record<string, MessageBody> = {
    "a setting": { kind: "setting", patch: { verboseLevel: "on" } },
    "a description": { kind: "describe", by: "owner", description: "new", systemPrompt: "new prompt" },
    "a question about children": { kind: "subagents", command: "list" },
    "a command": { kind: "command", name: "status", text: "" },
    "a way back": { kind: "branch", entryId: "" },
    "a reset": { kind: "reset", by: "person" },
    "a stop": { kind: "stop" },
    "a silent note": { kind: "system", text: "note", silent: true },
  };

  test.each(Object.entries(CASES))("settles for its caller only after its one commit: %s", async (_name, body) => {
    const engine = await TestEngine.open();
    const to = body.kind === "describe" ? { descriptor: GUIDE } : engine.person().to;
    const first = accepted(await engine.system.post({ to, body: { kind: "user", text: "hi" } }));
    await engine.settle();
    const entry = (await engine.entries(first.agentId)).find(({ role }) => role === "user");
    const asked = body.kind === "branch" ? { ...body, entryId: entry?.id as string } : body;
    let failed = 0;
    engine.onCommit = (change) => (settles(change) && failed++ === 0 ? "full" : "go");
    const before = engine.commits.length;
    let told = false;
    const answer = engine.system.postAndAwait({ to, body: asked }).then(() => {
      told = true;
    });
    await engine.settle();
    expect([failed, told]).toEqual([1, false]);
    await engine.advance(200);
    await answer;
    expect(engine.commits.slice(before).filter(settles)).toHaveLength(1);
    const [last] = await engine.store.messages(first.agentId, { limit: 1 });
    expect(last).toMatchObject({ state: "recorded" });
    if (body.kind === "describe") {
      expect((await engine.store.agent(first.agentId))?.descriptor).toMatchObject({ description: "new" });
    }
  });
});

describe("a question between two steps of a run", () => {
  test.each<[string, MessageBody]>([
    ["a command", { kind: "command", name: "status", text: "" }],
    ["a setting", { kind: "setting", patch: { verboseLevel: "off" } }],
  ])("is answered once, even if its commit fails first: %s", async (_name, body) => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "work" }] }, "done"),
      tools: { work: { execute: () => hold.promise } },
    });
    await engine.tell("go");
    let told = false;
    const asked = engine.system.postAndAwait({ to: engine.person().to, body }).then(() => {
      told = true;
    });
    await engine.settle();
    let failed = 0;
    const sites = new Set(["command", "setting", "settings"]);
    engine.onCommit = (change) => {
      const isAnswer = settles(change) && sites.has(change.site);
      return isAnswer && failed++ === 0 ? "full" : "go";
    };
    hold.open("worked");
    await engine.settle();
    expect([failed, told]).toEqual([1, false]);
    await engine.advance(200);
    await asked;
    expect(engine.shown()).toEqual(["done"]);
    expect(engine.executions).toHaveLength(1);
    expect(await engine.states()).toEqual(["answered", "recorded"]);
  });
});

describe("a stop between a choice and its commit", () => {
  it("settles the message of a stopped parent's child without a run", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    const parentAgentId = await engine.agentId();
    const child: AgentDescriptor = { type: "subagent", id: "kid", parentAgentId, name: "kid" };
    const mark = { reason: "person", at: engine.clock.now() };
    engine.at("take", () => engine.put({ op: "agent.stop", agentId: parentAgentId, mark }));
    const work = { to: { descriptor: child }, body: { kind: "user", text: "work" } } as const;
    const { agentId } = accepted(await engine.system.post(work));
    await engine.settle();
    expect(await engine.states(agentId)).toEqual(["aborted"]);
    expect(await engine.runs(agentId)).toEqual([]);
    expect(engine.requests).toHaveLength(1);
    expect(await engine.store.busyAgents({ limit: 10 })).toEqual([]);
  });
});

describe("an agent with commands on another node", () => {
  it("works here at once if that node leaves before the agent is handed over", async () => {
    const engine = await TestEngine.open({
      settings: { profiles: { main: { exec: { host: "node", node: "builder" } } } },
    });
    const leaseUntil = engine.clock.now() + 3600_000;
    const [node] = await engine.put({ op: "node.join", name: "builder", leaseUntil });
    if (node?.op !== "node.join") throw new TypeError("no node");
    engine.at("hand", () => engine.put({ op: "node.leave", node: node.node }));
    await engine.tell("go");
    expect(engine.shown()).toEqual(["answer to go"]);
  });
});

describe("a message that continues an entry", () => {
  /** Two answers; then a message after one of them. */
  async function continued(after: string | undefined, more: { before?: MessageBody } = {}) {
    const engine = await TestEngine.open();
    for (const text of ["one", "two"]) await engine.tell(text);
    const entries = await engine.entries();
    const entry = entries.find(({ content }) => JSON.stringify(content ?? "").includes(`answer to ${after}`));
    if (more.before) await engine.send(more.before);
    const body = { kind: "user", text: "three", after: typeof entry?.id === "string" ? entry.id : after } as const;
    let told = false;
    void engine.system.postAndAwait({ ...engine.person(), body }).then(() => {
      told = true;
    });
    await engine.settle();
    expect(told).toBe(true);
    const heard = engine.requests.at(-1)?.messages.map(({ content }) => JSON.stringify(content)) ?? [];
    return { engine, heard: heard.map((text) => /one|two|three/.exec(text)?.[0]) };
  }

  test.each<[string, string, readonly string[]]>([
    ["the last answer", "two", ["one", "one", "two", "two", "three"]],
    ["an earlier answer", "one", ["one", "one", "three"]],
  ])("is answered after %s", async (_title, after, expected) => {
    const { heard, engine } = await continued(after);
    expect([heard, await engine.states()]).toEqual([expected, ["answered", "answered", "answered"]]);
  });

  it("is discarded with a trace if its entry is of an earlier session", async () => {
    const { engine } = await continued("one", { before: { kind: "reset", by: "person" } });
    const [last] = await engine.store.messages(await engine.agentId(), { limit: 1 });
    expect(last).toMatchObject({ state: "discarded", reason: expect.stringContaining("began a new session") });
    expect(engine.requests).toHaveLength(2);
  });

  it("keeps a session that is stale", async () => {
    const engine = await TestEngine.open({ settings: { session: { reset: { mode: "idle", idleMinutes: 1 } } } });
    await engine.tell("one");
    await engine.advance(61_000);
    await engine.send({ kind: "user", text: "two", after: (await engine.agent()).leaf });
    await engine.settle();
    expect(await engine.transcript()).not.toContain("--- reset");
  });
});

describe("an agent with a suspended run", () => {
  it("finds the decision behind hundreds of silent notes", async () => {
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "exec" }] }),
      tools: { exec: { rights: ["exec"] } },
      system: { rights: {} },
      settings: { owner: { accounts: ["test:olga"] } },
    });
    const person = { id: "ann", role: "guest", accounts: ["test:ann"], grants: [{ ask: "exec" }] } as const;
    await engine.put({ op: "person.put", person: { ...person, createdAt: 1, createdBy: "owner" } });
    await engine.tell("go");
    expect(await engine.agent()).toMatchObject({ suspended: true });
    for (let n = 0; n < 300; n++) await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.settle();
    expect(engine.executions).toEqual([]);
    const [asked] = await engine.store.approvals({ limit: 1 });
    if (!asked) throw new TypeError("no question");
    await engine.system.approvals.decide(asked.id, { approve: true }, { person: OWNER, surface: "test" });
    await engine.settle();
    expect([engine.executions.length, engine.shown().at(-1)]).toEqual([1, "done"]);
    expect(await engine.states()).not.toContain("waiting");
  });
});
