/** A change touches only the rows that it names: those of another agent, and other rows of the same agent, stay as they are. */
import { expect } from "vitest";
import type { SubagentRunRecord } from "../../src/core/agent/subagent-run.ts";
import type { DeliveryId, EntryId, RunId } from "../../src/core/ids.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { PersonRecord } from "../../src/core/people/person-record.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { CronJob } from "../../src/core/schedule/job.ts";
import type { Op, Owner } from "../../src/core/store/change.ts";
import {
  type Held,
  idOf,
  keyOf,
  type Opener,
  postOp,
  runBody,
  START,
  storeTest,
  userBody,
  type World,
} from "./fixture.ts";

const FAR = START * 2;
const CONTACT = idOf("contact");
const CALL = { prompt: 1, maxTokens: 9, leastTokens: 1, read: 1, write: 1 };
const runIn = (name: string): RunId => `${name}-run` as RunId;
const oldRun = (name: string): RunId => `${name}-old` as RunId;
const personOf = (name: string): PersonRecord =>
  ({
    ...{ id: name, role: "guest", accounts: [`test:${name}`], grants: [], createdAt: START, createdBy: "owner" },
  }) as unknown as PersonRecord;
const recordOf = (name: string): SubagentRunRecord =>
  ({
    ...{ runId: name, childSessionKey: `child-${name}`, requesterSessionKey: name, task: "work", createdAt: START },
    ...{ cleanup: "keep", archiveAtMs: START + 5 },
  }) as unknown as SubagentRunRecord;

const delivery = (held: Held, id: string): Op => ({
  op: "delivery.add",
  delivery: {
    id: id as DeliveryId,
    agentId: held.id,
    target: { channel: id },
    payload: { text: id },
    createdAt: START,
  },
});
const ask = (held: Held, name: string, id: string): Op => ({
  op: "approval.ask",
  approval: {
    ...{ id: id as ApprovalId, agentId: held.id, runId: runIn(name), callId: id, tool: "exec", arguments: {} },
    ...{ behalf: { person: "ann" as PersonId }, digest: "same", prompt: "?", askedAt: START, dueAt: FAR },
  },
});
const decide = (held: Held, id: string, to: "approved" | "denied"): Op => ({
  ...{ op: "approval.decide", id: id as ApprovalId, agentId: held.id, digest: "same", from: "pending", to },
  ...{ by: "owner", surface: "cli", until: FAR },
});
const slot = (name: string, n: number) =>
  ({ jobId: name, slot: `${n}`, revision: 1, dueAt: START, count: 1, status: "fired", at: START }) as const;

/** One row of every kind, and for some kinds two. */
async function populated(world: World, name: string): Promise<Held> {
  const held = await world.agent(name);
  const job: CronJob = {
    ...{ id: name, name, enabled: true, createdAtMs: START, updatedAtMs: START, sessionTarget: "isolated" },
    schedule: { kind: "every", everyMs: 60_000, anchorMs: START },
    wakeMode: "now",
    payload: { kind: "agentTurn", message: "work" },
    state: { nextRunAtMs: START + 60_000 },
  };
  const request = { by: "content", key: name, isRetry: false, keepUntil: FAR } as const;
  await world.done([postOp({ agentId: held.id }, userBody("1"), START, { request })]);
  for (const text of ["2", "3", "4", "5"]) await world.post(held.id, userBody(text));
  await world.openRun(held, oldRun(name), [1]);
  await world.done(
    [
      { op: "message.settle", settlements: [{ seq: 1, from: "taken", state: "answered" }] },
      { op: "run.end", runId: oldRun(name), body: runBody([1]), outcome: "ok" },
    ],
    held.owner,
  );
  await world.openRun(held, runIn(name), [2]);
  await world.done([delivery(held, `${name}-d1`), delivery(held, `${name}-d2`)], held.owner);
  await world.done(
    [1, 2, 3].map((n) => ask(held, name, `${name}-a${n}`)),
    held.owner,
  );
  const rows = [{ key: `tree:${name}`, limit: { tokens: 900 } }];
  const reserve = (n: number): Op => ({
    op: "budget.reserve",
    id: `${name}-${n}`,
    runId: runIn(name),
    call: CALL,
    rows,
  });
  await world.done([reserve(1), { op: "budget.told", key: `tree:${name}` }], held.owner);
  const record = {
    ...{ nametag: name, owner: held.id, profile: "main", firstName: "Desk", systemPrompt: "x" },
    ...{ memory: false, createdAt: START },
  };
  await world.done([
    decide(held, `${name}-a2`, "approved"),
    { op: "job.put", job },
    { op: "job.slot", slot: slot(name, 1) },
    { op: "job.slot", slot: slot(name, 2) },
    { op: "swarm.put", swarm: record },
    { op: "swarm.contact", nametag: name, contact: CONTACT, received: 1 },
    { op: "subagent.put", record: recordOf(name) },
    { op: "fact.put", key: name, value: "1" },
    { op: "person.put", person: personOf(name) },
    { op: "wait.begin", id: name, from: held.id, to: { agentId: CONTACT }, runId: runIn(name) },
  ]);
  return held;
}

function rowsOf({ store }: World, name: string): Promise<unknown> {
  const [id, limit] = [idOf(name), 20];
  return Promise.all([
    store.agent(id),
    store.agentByKey(keyOf(name)),
    store.messages(id, { limit }),
    store.linesBack(id, { limit }),
    store.runs(id, { limit }),
    store.delivery(`${name}-d1` as DeliveryId),
    store.delivery(`${name}-d2` as DeliveryId),
    store.approvals({ limit, agentId: id }),
    store.job(name),
    store.jobSlots(name, { limit }),
    store.swarmContacts(name, { limit }),
    store.swarm(name),
    store.subagentRun(name),
    store.fact(name),
    store.request(name),
    store.budget(`tree:${name}`),
    store.reservations({ limit }).then((all) => all.filter((one) => one.id.startsWith(name))),
    store.waits({ limit, from: id }),
    store.personByAccount(`test:${name}`),
    store.busyAgents({ limit }).then((all) => all.some((one) => one.id === id)),
  ]);
}

export function neighboursContract(open: Opener): void {
  storeTest("whatever happens to one agent, nothing of another one changes", open, async (world) => {
    await world.agent("contact");
    await populated(world, "m");
    const held = await populated(world, "t");
    await populated(world, "z");
    const third = await world.join("third");
    const others = () =>
      Promise.all([
        rowsOf(world, "m"),
        rowsOf(world, "z"),
        world.store.nodes().then((all) => all.filter(({ node }) => node !== world.node)),
        world.store.run(oldRun("t")),
      ]);
    const expected = await others();
    const at = (step: number, rest: object = {}): Owner => ({
      ...held.owner,
      run: { id: runIn("t"), step, ...rest },
    });
    const body = { ...runBody([2]), iterations: 7 };
    const run = { runId: runIn("t"), body };
    const reserve = (id: string): Op => ({
      ...{ op: "budget.reserve", id, runId: runIn("t"), call: CALL, rows: [{ key: "tree:t", limit: { tokens: 900 } }] },
      ...{ counted: { ...body, counted: 1 } },
    });
    const end = { at: START, status: "ok", runId: runIn("t"), startedAt: START, durationMs: 1, failed: false } as const;
    const changes: readonly (readonly [readonly Op[], Owner?])[] = [
      [[{ op: "entries.append", position: 2, lines: ["{}"], leaf: "l" as EntryId }], held.owner],
      [[{ op: "run.step", ...run }], at(1)],
      [[{ op: "run.amend", ...run }], at(2)],
      [[{ op: "message.take", runId: run.runId, seqs: [3] }], at(2)],
      [[{ op: "message.settle", settlements: [{ seq: 2, from: "taken", state: "answered" }] }], at(2)],
      [[{ op: "message.drop", agentId: held.id, seq: 4, reason: "no" }]],
      [[{ op: "delivery.move", id: "t-d1" as DeliveryId, from: "pending", attempts: 0, to: "sending", node: 1 }]],
      [[{ op: "delivery.move", id: "t-d2" as DeliveryId, from: "pending", attempts: 0, to: "pending", toTail: true }]],
      [[decide(held, "t-a1", "denied")]],
      [
        [{ op: "approval.use", id: "t-a2" as ApprovalId, digest: "same", by: { runId: "r9" as RunId, callId: "c9" } }],
        at(2),
      ],
      [[reserve("t-2"), { op: "budget.settle", id: "t-2", actual: { tokens: 1, micros: 1 } }], at(2)],
      [[{ op: "budget.forfeit", runId: run.runId }]],
      [[{ op: "budget.lift", key: "tree:t", more: { tokens: 1, micros: 1 } }]],
      [[{ op: "job.ran", jobId: "t", slot: "1", end: { ...end, delivery: { status: "none" } } }]],
      [[{ op: "swarm.contact", nametag: "t", contact: CONTACT, sent: 1, known: true }]],
      [[{ op: "swarm.remove", nametag: "t" }]],
      [[{ op: "subagent.put", record: { ...recordOf("t"), endedAt: START } }]],
      [[{ op: "subagent.remove", runId: "t" }]],
      [[{ op: "fact.put", key: "t", value: "2", expect: "1" }]],
      [[{ op: "fact.put", key: "t", value: null }]],
      [[{ op: "request.finish", key: "t", agentId: held.id, seq: 1 }]],
      [[{ op: "run.abort", runId: run.runId, mark: { reason: "person", at: START }, fresh: true }]],
      [[{ op: "approval.withdraw", of: { agentId: held.id }, reason: "x" }]],
      [[{ op: "run.suspend", runId: run.runId, suspended: true }], at(2, { evenAborted: true })],
      [[{ op: "agent.stop", agentId: held.id, mark: { at: START, reason: "x" } }]],
      [[{ op: "run.end", ...run, outcome: "aborted" }], at(2, { evenAborted: true })],
      [[{ op: "node.renew", node: world.node, leaseUntil: FAR }]],
      [[{ op: "message.settle", settlements: [{ seq: 5, from: "waiting", state: "failed" }] }], held.owner],
      [[{ op: "agent.release" }], held.owner],
      [[{ op: "agent.claim", agentId: held.id, node: world.node }]],
      [[{ op: "person.put", person: personOf("t") }]],
      [[{ op: "person.remove", id: "t" }]],
    ];
    for (const [ops, owner] of changes) {
      await world.done(ops, owner);
      expect(await others(), JSON.stringify(ops)).toEqual(expected);
    }
    const slots = await world.store.jobSlots("t", { limit: 5 });
    expect(slots.map((one) => [one.slot, one.end?.status])).toEqual([
      ["2", undefined],
      ["1", "ok"],
    ]);
    expect(await world.store.waits({ limit: 5, from: held.id })).toEqual([]);
    const rest = async () => (await others()).slice(0, 3);
    await world.done([{ op: "agent.remove", agentId: held.id, reason: "x" }]);
    expect(await rest()).toEqual(expected.slice(0, 3));
    await world.done([{ op: "agent.erase", agentId: held.id, tombstone: "gone" }]);
    expect(await rest()).toEqual(expected.slice(0, 3));
    await world.done([{ op: "node.leave", node: third }]);
    expect((await rest()).slice(0, 2)).toEqual(expected.slice(0, 2));
    expect((await world.store.nodes()).map(({ left }) => left)).toEqual([false, true]);
  });
}
