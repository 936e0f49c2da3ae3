/** Erasing reaches every kind of row, and of each kind only what is meant (L13). */
import { expect } from "vitest";
import type { AgentId, ChangeId, DeliveryId, RunId } from "../../src/core/ids.ts";
import type { StoredFile } from "../../src/core/message/stored-file.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { PersonRecord } from "../../src/core/people/person-record.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { CronJob } from "../../src/core/schedule/job.ts";
import type { Op } from "../../src/core/store/change.ts";
import { type Held, idOf, keyOf, type Opener, postOp, START, storeTest, userBody, type World } from "./fixture.ts";

const FAR = START * 2;
const TOMBSTONE = "forgotten-1a2b";
const SPENT = { tokens: 1, micros: 1 };

const file = (name: string): StoredFile => ({
  ...{ id: `file-${name}`, sha: name.padStart(64, "0"), name, mimeType: "text/plain", size: 5, blob: `blob-${name}` },
  ...{ behalf: { person: "ann" as PersonId }, createdAt: START, shown: { as: "reference" } },
});
const ask = (name: string, runId: RunId): Op => ({
  op: "approval.ask",
  approval: {
    ...{ id: `p-${name}` as ApprovalId, agentId: idOf(name), runId, callId: "c", behalf: { person: "x" as PersonId } },
    ...{ tool: "exec", arguments: {}, digest: "d", prompt: "?", askedAt: START, dueAt: FAR },
  },
});
const reserve = (id: string, runId: RunId, key: string, tokens: number): Op => ({
  ...{ op: "budget.reserve", id, runId, rows: [{ key, limit: { tokens } }] },
  call: { prompt: 1, maxTokens: 1, leastTokens: 1, read: 1, write: 1 },
});
const record = (runId: string, requesterSessionKey: string, task: string): Op => ({
  op: "subagent.put",
  record: {
    ...{ runId, childSessionKey: "child", requesterSessionKey, requesterDisplayKey: "main", task },
    ...{ createdAt: START, cleanup: "keep" },
  },
});

/** An agent at work with a row of every kind. `witness` is another agent at work. */
async function working(world: World, name: string, witness: Held): Promise<Held> {
  const held = await world.agent(name);
  const { id, owner } = held;
  await world.post(id);
  await world.post(id);
  const runId = await world.openRun(held, `run-${name}`, [1]);
  await world.done(
    [
      {
        op: "delivery.add",
        delivery: {
          ...{ id: `d-${name}` as DeliveryId, agentId: id, target: { channel: "test", to: name } },
          ...{ payload: { text: "x" }, createdAt: START },
        },
      },
      ask(name, runId),
      reserve(`c-${name}`, runId, "tree:all", 1_000),
      { op: "budget.told", key: "tree:full" },
      { op: "file.stage", blobs: [`blob-${name}`], until: FAR },
      { op: "file.put", file: file(name), quota: 1_000 },
      { op: "file.hold", files: [`file-${name}`], by: { agentId: id } },
      { op: "wait.begin", id: `out-${name}`, from: id, to: { agentId: idOf("none-waits") }, runId },
      { op: "swarm.contact", nametag: "desk", contact: id, sent: 1 },
      { op: "swarm.contact", nametag: "desk", contact: idOf(`of-${name}`), agentId: id, sent: 1 },
      record(`about-${name}`, "someone", `look at ${id}`),
      record(`asked-by-${name}`, keyOf(name), "look"),
      { op: "budget.charge", key: `agent:${id}`, spent: SPENT },
      { op: "budget.charge", key: `tree:${id}`, spent: SPENT },
    ],
    owner,
  );
  const waited: Op = { op: "wait.begin", id: `in-${name}`, from: witness.id, to: { agentId: id }, runId: "w" as RunId };
  await world.done(
    [waited, { op: "budget.told", key: `agent:${id}` }, { op: "budget.told", key: `tree:${id}` }],
    witness.owner,
  );
  return held;
}

/** Which rows of an agent there are. */
async function rowsOf({ store, done }: World, name: string, witness: Held): Promise<Record<string, boolean>> {
  const id: AgentId = idOf(name);
  const waits = (await store.waits({ limit: 99 })).map((wait) => wait.id);
  const contacts = await store.swarmContacts("desk", { limit: 99 });
  const told = async (key: string): Promise<boolean> => {
    const [said] = await done([reserve("never", "w" as RunId, key, 0)], witness.owner);
    return said?.op === "budget.reserve" && said.told;
  };
  return {
    key: (await store.agentByKey(keyOf(name))) !== undefined,
    lines: (await store.linesBack(id, { limit: 9 })).length > 0,
    messages: (await store.messages(id, { limit: 9 })).length > 0,
    run: (await store.run(`run-${name}` as RunId)) !== undefined,
    delivery: (await store.delivery(`d-${name}` as DeliveryId)) !== undefined,
    approval: (await store.approval(`p-${name}` as ApprovalId)) !== undefined,
    reservation: (await store.reservations({ limit: 99 })).some((one) => one.id === `c-${name}`),
    hold: await store.holdsFile(id, `file-${name}`),
    waits: waits.includes(`out-${name}`),
    awaited: waits.includes(`in-${name}`),
    contact: contacts.some(({ contact }) => contact === id),
    agentOfContact: contacts.some(({ contact }) => contact === idOf(`of-${name}`)),
    recordAbout: (await store.subagentRun(`about-${name}`)) !== undefined,
    recordAskedBy: (await store.subagentRun(`asked-by-${name}`)) !== undefined,
    budgetOfAgent: (await store.budget(`agent:${id}`)) !== undefined,
    budgetOfTree: (await store.budget(`tree:${id}`)) !== undefined,
    toldOfAgent: await told(`agent:${id}`),
    toldOfTree: await told(`tree:${id}`),
  };
}

const job = (id: string): CronJob => ({
  ...{ id, name: id, enabled: true, createdAtMs: START, updatedAtMs: START, sessionTarget: "isolated" },
  ...{ schedule: { kind: "every", everyMs: 60_000 }, wakeMode: "now", payload: { kind: "agentTurn", message: "look" } },
  state: { nextRunAtMs: START + 60_000 },
});
const person = (id: string, ...accounts: readonly string[]): PersonRecord => ({
  ...{ id, role: "guest", accounts: [...accounts], grants: [], createdAt: START, createdBy: "owner" },
});

/** What a person leaves beside agents: a job with a row, a budget that was told of, an answer, and a result with its name. */
async function personal(world: World, name: string, asker: Held): Promise<ChangeId> {
  const slot = { jobId: `job-${name}`, slot: "1", revision: 1, dueAt: START, count: 1, status: "fired", at: START };
  await world.done([
    { op: "job.put", job: job(`job-${name}`) },
    { op: "job.slot", slot: slot as never },
    { op: "person.put", person: person(name, `test:${name}`) },
    { op: "budget.charge", key: `day:${name}`, spent: SPENT },
  ]);
  const runId = "w" as RunId;
  const asked = ask(name, runId) as Extract<Op, { op: "approval.ask" }>;
  const decide = { op: "approval.decide", id: `p-${name}` as ApprovalId, agentId: asker.id, digest: "d" } as const;
  await world.done(
    [
      { ...asked, approval: { ...asked.approval, agentId: asker.id, callId: name } },
      { op: "budget.told", key: `day:${name}` },
    ],
    asker.owner,
  );
  await world.done([{ ...decide, from: "pending", to: "denied", by: name, surface: "cli" }]);
  const named = world.change([reserve("never", runId, name, 0)], asker.owner);
  await world.store.commit(named);
  return named.id;
}

export function eraseRowsContract(open: Opener): void {
  storeTest("erasing an agent removes each kind of its rows, and none of another's", open, async (world) => {
    const witness = await world.agent("witness");
    await world.openRun(witness, "w");
    await world.agent("none-waits");
    const swarm = { nametag: "desk", owner: idOf("x"), profile: "main", firstName: "D", systemPrompt: "" };
    await world.done([{ op: "swarm.put", swarm: { ...swarm, memory: false, createdAt: START } }]);
    for (const name of ["ann", "bob"]) await working(world, name, witness);
    const rows = async () => [await rowsOf(world, "ann", witness), await rowsOf(world, "bob", witness)];
    const [before = {}, same] = await rows();
    expect(Object.values(before)).not.toContain(false);
    expect(same).toEqual(before);
    const next = (await world.store.agent(idOf("ann")))?.nextSeq ?? 0;
    const at = world.now;
    await world.done([{ op: "agent.erase", agentId: idOf("ann"), tombstone: TOMBSTONE }]);
    expect(await rows()).toEqual([Object.fromEntries(Object.keys(before).map((kind) => [kind, false])), before]);
    const left = await world.store.agent(idOf("ann"));
    expect(left).toMatchObject({ nextPos: 0, nextSeq: next, cursor: next - 1, epoch: 2, waiting: 0 });
    expect([left?.node, left?.runId, left?.lastHumanAt, left?.suspended]).toEqual(Array(4).fill(undefined));
    expect(left?.stopped).toEqual({ at, reason: "forgotten", seq: next, removed: true });
  });

  storeTest("erasing a person removes and hides each kind of its rows, and none of another's", open, async (world) => {
    const { store } = world;
    const asker = await world.agent("asker");
    await world.openRun(asker, "w");
    const named = { ann: await personal(world, "ann", asker), bob: await personal(world, "bob", asker) };
    await world.done([{ op: "person.put", person: person("eve", "test:eve") }]);
    const rowsOfPerson = async (name: "ann" | "bob") => {
      const [said] = await world.done([reserve("never", "w" as RunId, `day:${name}`, 0)], asker.owner);
      const outcome = await store.outcome(named[name]);
      return {
        job: (await store.job(`job-${name}`)) !== undefined,
        slots: (await store.jobSlots(`job-${name}`, { limit: 9 })).length > 0,
        person: (await store.person(name)) !== undefined,
        account: (await store.personByAccount(`test:${name}`)) !== undefined,
        budget: (await store.budget(`day:${name}`)) !== undefined,
        told: said?.op === "budget.reserve" && said.told,
        decider: (await store.approval(`p-${name}` as ApprovalId))?.decidedBy === name,
        result: outcome?.ok === true && outcome.results.length > 0,
      };
    };
    const before = await rowsOfPerson("ann");
    expect(Object.values(before)).not.toContain(false);
    expect(await rowsOfPerson("bob")).toEqual(before);
    await world.done([
      {
        ...{ op: "person.erase", people: ["ann", "test:eve"], jobs: ["job-ann"], budgets: ["day:ann"] },
        tombstone: TOMBSTONE,
      },
    ]);
    expect(await rowsOfPerson("ann")).toEqual(Object.fromEntries(Object.keys(before).map((kind) => [kind, false])));
    expect(await rowsOfPerson("bob")).toEqual(before);
    expect((await store.approval("p-ann" as ApprovalId))?.decidedBy).toBe(TOMBSTONE);
    // An account can be erased without the person that had it.
    expect([(await store.person("eve"))?.id, await store.personByAccount("test:eve")]).toEqual(["eve", undefined]);
  });

  storeTest(
    "of the audit log, rows about a person lose their target and reason, and others stay",
    open,
    async (world) => {
      const audit = (n: number, more: object): Op => ({
        ...{
          op: "audit.add",
          entry: { at: n, person: "owner", surface: "cli", action: "exec", decision: "allow", ...more },
        },
      });
      await world.done([
        ...[audit(1, { target: "ann", reason: "why" }), audit(2, { target: "file", reason: "asked by ann" })],
        ...[audit(3, { reason: "ann" }), audit(4, { target: "anna", reason: "annual" }), audit(5, { action: "ann" })],
        audit(6, { person: "ann", target: "x", reason: "y", action: "read", decision: "deny", surface: "web" }),
      ]);
      await world.done([{ op: "person.erase", people: ["ann"], jobs: [], budgets: [], tombstone: TOMBSTONE }]);
      const rows = (await world.store.audit({ limit: 9 })).map(({ n: _, ...row }) => row);
      const kept = { person: "owner", surface: "cli", action: "exec", decision: "allow" };
      expect(rows.reverse()).toEqual([
        ...[1, 2, 3].map((at) => ({ ...kept, at, target: TOMBSTONE })),
        { ...kept, at: 4, target: "anna", reason: "annual" },
        { ...kept, at: 5, action: "ann" },
        { at: 6, person: TOMBSTONE, surface: "web", action: "read", decision: "deny" },
      ]);
    },
  );

  storeTest("mentions are counted in histories and messages of the agents that are asked for", open, async (world) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    const append = (text: string): Op => ({
      ...{ op: "entries.append", position: 2, lines: [`{"text":"${text}"}`], leaf: "l" as never },
    });
    await world.done([append("ann wrote")], a.owner);
    await world.done([postOp({ agentId: a.id }, userBody("ask ann and bob"), START)]);
    await world.done([postOp({ agentId: b.id }, userBody("ann"), START)]);
    const mentions = (agents: readonly AgentId[], texts: readonly string[]) =>
      world.store.eraser?.mentions(agents, texts);
    expect(await mentions([a.id], ["ann"])).toEqual([{ agentId: a.id, count: 2 }]);
    // A text that names two of them counts once.
    expect(await mentions([a.id], ["ann", "bob"])).toEqual([{ agentId: a.id, count: 2 }]);
    expect(await mentions([b.id, a.id], ["bob"])).toEqual([{ agentId: a.id, count: 1 }]);
    expect(await mentions([], ["ann"])).toEqual([]);
  });

  storeTest("a person's facts and removed agents are listed in pages for the eraser", open, async (world) => {
    for (const name of ["a", "b", "c"]) await world.agent(name);
    await world.done([{ op: "agent.remove", agentId: idOf("b"), reason: "x" }]);
    const agents = async (after?: AgentId, limit = 9) =>
      (await world.store.eraser?.agents({ after, limit }))?.map(({ id }) => id);
    expect(await agents()).toEqual(["a", "b", "c"].map(idOf));
    expect(await agents(undefined, 2)).toEqual(["a", "b"].map(idOf));
    expect(await agents(idOf("b"))).toEqual([idOf("c")]);
    for (const key of ["b", "a", "c"]) await world.done([{ op: "fact.put", key, value: `value of ${key}` }]);
    const facts = async (after?: string, limit = 9) => world.store.eraser?.facts({ after, limit });
    const fact = (key: string) => ({ key, value: `value of ${key}` });
    expect(await facts()).toEqual(["a", "b", "c"].map(fact));
    expect(await facts("a", 1)).toEqual([fact("b")]);
    expect(await facts("c")).toEqual([]);
  });

  storeTest("what a sweep removes of a budget is told of again", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, "r");
    const charge = (key: string): Op => ({ op: "budget.charge", key, spent: SPENT });
    const keys = ["day:1", "agent:1"];
    await world.done([...keys.map(charge), ...keys.map((key): Op => ({ op: "budget.told", key }))], a.owner);
    const told = async (key: string) =>
      (await world.done([reserve("never", "r" as RunId, key, 0)], a.owner))[0] as { told: boolean };
    for (const key of keys) expect(await told(key)).toMatchObject({ told: true });
    await world.done([{ op: "budget.sweep", reservedBefore: 0, rowsBefore: FAR }]);
    expect(await told("day:1")).toMatchObject({ told: false });
    expect(await told("agent:1")).toMatchObject({ told: true });
  });
}
