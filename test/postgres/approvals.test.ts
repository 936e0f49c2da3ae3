/** A run that waits for a person on one database with two nodes: the answer given on the other node wakes it (M31). */

import { afterEach, beforeAll, expect, test } from "vitest";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import type { AgentId, ChangeId, RunId } from "../../src/core/ids.ts";
import { OWNER } from "../../src/core/people/person.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model } from "../../src/core/ports/model.ts";
import type { Ports } from "../../src/core/ports/ports.ts";
import { AgentSystem } from "../../src/engine/agents/agent-system.ts";
import { testSettings } from "../kit/settings.ts";
import { recordingTool, toolHost } from "../kit/tools.ts";
import { freshDatabase } from "./shared.ts";

let url = "";
const stores: PostgresStore[] = [];
const systems: AgentSystem[] = [];
const executions: { readonly node: string; readonly name: string }[] = [];
beforeAll(async () => {
  url = await freshDatabase();
});
afterEach(async () => {
  await Promise.all(systems.splice(0).map((system) => system.drain()));
  await Promise.all(stores.splice(0).map((store) => store.close()));
  executions.splice(0);
});

const about = { api: "scripted", provider: "scripted", model: "scripted" } as const;
/** Calls the tool once, then says what it has read. */
const model: Model = {
  call: async ({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { ...about, content: [{ type: "text", text: "done" }], stopReason: "stop" }
      : { ...about, content: [{ type: "toolCall", id: "c1", name: "exec", arguments: {} }], stopReason: "tool_calls" },
};

async function node(name: string): Promise<{ system: AgentSystem; store: PostgresStore }> {
  const store = await openPostgresStore({ url });
  stores.push(store);
  const process = { alive: true, name };
  const activity = { inFlight: 0, count: 0 };
  const done: Parameters<typeof recordingTool>[3]["executions"] = [];
  const exec = recordingTool("exec", { rights: ["exec"], replay: "never" }, process, { activity, executions: done });
  const execute: typeof exec.execute = (...given) => {
    executions.push({ node: name, name: "exec" });
    return exec.execute(...given);
  };
  const ports: Ports = {
    ...{ store, model, clock: systemClock, ids: systemIds(), log: silentLog, connectors: new Map() },
    tools: toolHost([{ ...exec, execute }]),
    files: { write: async (file) => file, read: async () => undefined },
  };
  const system = new AgentSystem(ports, {
    ...{ nodeName: name, leaseMs: 5_000, pollMs: 200, rights: {} },
    settings: testSettings({ owner: { accounts: ["test:olga"] } }),
    resolveModel: () => ({ model: "scripted", system: "test" }),
  });
  systems.push(system);
  await system.load();
  await system.start();
  return { system, store };
}

/** Ann's message leads to a call that must be asked about. Resolves when its run waits. */
async function suspended({ system, store }: Awaited<ReturnType<typeof node>>, who: string) {
  const person = { id: who, role: "guest", accounts: [`test:${who}`], grants: [{ ask: "exec" }] } as const;
  await store.commit({
    ...{ id: `person-${who}` as ChangeId, site: "test", at: systemClock.now() },
    ops: [{ op: "person.put", person: { ...person, createdAt: 1, createdBy: "owner" } }],
  });
  const posted = await system.post({
    to: { descriptor: { type: "user", connector: "test", userId: who, channelId: who } },
    body: { kind: "user", text: "go" },
  });
  if (posted.status === "stale") throw new Error("stale");
  await system.settled();
  const agent = await store.agent(posted.agentId as AgentId);
  const [approval] = await store.approvals({ limit: 1, agentId: posted.agentId });
  if (!agent?.runId || !approval) throw new Error("The run does not wait.");
  expect(agent).toMatchObject({ suspended: true });
  expect(agent.node).toBeUndefined();
  return { runId: agent.runId as RunId, approval };
}

test("the answer on another node wakes it there, and the call runs once", async () => {
  const [a, b] = [await node("a"), await node("b")];
  const { runId, approval } = await suspended(a, "ann");
  const answers = await Promise.allSettled([
    b.system.approvals.decide(approval.id, { approve: true }, { person: OWNER, surface: "b" }),
    b.system.approvals.decide(approval.id, { approve: true }, { person: OWNER, surface: "b" }),
  ]);
  expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(await b.system.runs.wait(runId, 10_000)).toMatchObject({ status: "ended", outcome: "ok" });
  expect(executions).toEqual([{ node: "b", name: "exec" }]);
  expect(await a.store.approval(approval.id)).toMatchObject({ state: "used", decidedBy: "owner", surface: "b" });
});

test("an abort on another node ends it, and withdraws its question", async () => {
  const [a, b] = [await node("c"), await node("d")];
  const { runId, approval } = await suspended(a, "bob");
  expect(await b.system.runs.abort(runId)).toBe(true);
  expect(await b.system.runs.wait(runId, 10_000)).toMatchObject({ status: "ended", outcome: "aborted" });
  expect(await a.store.approval(approval.id)).toMatchObject({ state: "withdrawn" });
  expect(executions).toEqual([]);
});
