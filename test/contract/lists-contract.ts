/** Every list of a store: read in pages of any size it is the whole list in its order, nothing twice and nothing left out. */
import { expect } from "vitest";
import { targetKey } from "../../src/core/delivery/target-key.ts";
import type { AgentId, DeliveryId, EntryId, RunId } from "../../src/core/ids.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { Store } from "../../src/core/store/store.ts";
import { person, storedFile } from "./every-record.ts";
import { childOf, idOf, type Opener, postOp, runBody, START, storeTest, userBody, type World } from "./fixture.ts";

const FIVE = [1, 2, 3, 4, 5];
const NAMES = FIVE.map((n) => `n${n}`);
const [ANN, BOX] = [idOf("ann"), { channel: "api", to: "ann" }];

/** Five of everything, not in the order of their names, some at the same time. */
async function fill(world: World): Promise<void> {
  const ann = await world.agent("ann");
  for (const name of NAMES.toReversed()) {
    const child = await world.agent(name, childOf(ann.id, name));
    await world.post(child.id);
  }
  // Two pairs of people wrote at the same moment.
  for (const [n, name] of ["u3", "u1", "u5", "u4", "u2"].entries()) {
    const { id } = await world.agent(name);
    await world.done([postOp({ agentId: id }, userBody("hi"), START + Math.floor(n / 2))]);
  }
  const gone = await world.agent("gone", childOf(ann.id, "gone"));
  await world.done([{ op: "agent.remove", agentId: gone.id, reason: "done" }]);
  for (const n of FIVE) await world.post(ann.id, n % 2 ? userBody("hi") : { kind: "reset", by: "person" });
  for (const n of FIVE) {
    const runId = `run ${n}` as RunId;
    const { seq } = await world.post(ann.id, userBody("answered"));
    await world.openRun(ann, runId, [seq]);
    await world.done(
      [
        { op: "message.settle", settlements: [{ seq, from: "taken", state: "failed", runId, reason: "why" }] },
        { op: "run.end", runId, body: runBody([seq]), outcome: "ok" },
        { op: "entries.append", position: n + 1, lines: [`{"id":"e${n}"}`], leaf: `e${n}` as EntryId },
      ],
      ann.owner,
    );
  }
  const runId = await world.openRun(ann, "open");
  const states = ["waiting-reader", "unroutable"] as const;
  for (const n of FIVE) {
    const rest = { agentId: ann.id, payload: { text: "t" }, createdAt: START };
    const add = (id: string, more: object) =>
      ({ op: "delivery.add", delivery: { id: id as DeliveryId, target: { to: id }, ...rest, ...more } }) as const;
    const waiting = states.map((state) => add(`${state} ${n}`, { target: BOX, waits: { state } }));
    await world.done([add(`open ${n}`, {}), add(`failed ${n}`, {}), ...waiting], ann.owner);
    const move = { op: "delivery.move", id: `failed ${n}` as DeliveryId, from: "pending", attempts: 0 } as const;
    await world.done([{ ...move, to: "failed" }]);
    const approval = {
      ...{ id: `p${n}` as ApprovalId, agentId: ann.id, runId, callId: `c${n}`, behalf: { person: "ann" as never } },
      ...{ tool: "exec", arguments: {}, digest: `d${n}`, prompt: "?", askedAt: START, dueAt: START + 10 - n },
    };
    await world.done([{ op: "approval.ask", approval }], ann.owner);
    const entry = { at: START, person: "ann", surface: "cli", agentId: ann.id, action: "exec", decision: "allow" };
    await world.done([{ op: "audit.add", entry: entry as never }]);
    const slot = { jobId: "j", slot: `${n}`, revision: 1, dueAt: START, count: 1, status: "fired", at: START } as const;
    await world.done([{ op: "job.slot", slot }]);
    await world.done([{ op: "budget.charge", key: `day:${6 - n}`, spent: { tokens: 1, micros: 1 } }]);
    await world.done([{ op: "wait.begin", id: `w${6 - n}`, from: ann.id, to: { agentId: idOf(`n${n}`) }, runId }]);
    const swarm = { owner: ann.id, profile: "main", firstName: "D", systemPrompt: "", memory: false, createdAt: START };
    await world.done([{ op: "swarm.put", swarm: { nametag: `s${6 - n}`, ...swarm } }]);
    await world.done([{ op: "person.put", person: person(`p${6 - n}`) }]);
    const file = storedFile(`file_${6 - n}`);
    await world.done([
      { op: "file.stage", blobs: [`blob-${file.id}`, `text-${file.id}`], until: 9e15 },
      { op: "file.put", file, quota: 1_000 },
    ]);
    await world.done([
      {
        op: "job.put",
        job: {
          ...{ id: `j${6 - n}`, name: "j", enabled: true, createdAtMs: START, updatedAtMs: START },
          ...{ schedule: { kind: "every", everyMs: 60_000 }, sessionTarget: "isolated", wakeMode: "now" },
          ...{ payload: { kind: "agentTurn", message: "look" }, state: { nextRunAtMs: START + n } },
        },
      },
    ]);
  }
}

interface List<Row> {
  readonly read: (store: Store, limit: number, last: Row | undefined) => Promise<readonly Row[]>;
  readonly name: (row: Row) => string;
  /** What the whole list is. */
  readonly whole: readonly string[];
}

const list = <Row>(read: List<Row>["read"], name: List<Row>["name"], whole: readonly string[]): List<never> =>
  ({ read, name, whole }) as unknown as List<never>;

const FALLING = FIVE.toReversed();
const RECENT = ["u2", "u4", "u5", "u1", "u3"];
const USERS = ["u3", "u1", "u5", "u4", "u2"];
const CHILDREN = NAMES.toReversed();
const ids = (names: readonly string[]) => names.map(idOf);
const delivered = (states: readonly ("waiting-reader" | "unroutable" | "pending" | "sending" | "failed")[]) =>
  list(
    (store, limit, last: { n: number; id: string } | undefined) => store.deliveries({ limit, afterN: last?.n, states }),
    ({ id }) => id,
    FIVE.flatMap((n) =>
      (["pending", "failed", "waiting-reader", "unroutable"] as const)
        .filter((state) => states.includes(state))
        .map((state) => `${state === "pending" ? "open" : state} ${n}`),
    ),
  );
const openDeliveries = FIVE.flatMap((n) => [`open ${n}`, `waiting-reader ${n}`, `unroutable ${n}`]);
const byId = ({ id }: { readonly id: string }): string => id;

const LISTS: Readonly<Record<string, List<never>>> = {
  agents: list(
    (store, limit, last: { id: AgentId } | undefined) => store.agents({ limit, after: last?.id }),
    byId,
    ids(["ann", ...CHILDREN, ...USERS]),
  ),
  "the newest agents": list(
    (store, limit, last: { id: AgentId } | undefined) => store.agents({ limit, after: last?.id, newest: true }),
    byId,
    ids(["ann", ...CHILDREN, ...USERS].toReversed()),
  ),
  "the agents of the eraser": list(
    (store, limit, last: { id: AgentId } | undefined) =>
      store.eraser?.agents({ limit, after: last?.id }) ?? Promise.resolve([]),
    byId,
    ids(["ann", ...CHILDREN, ...USERS, "gone"]),
  ),
  roots: list(
    (store, limit, last: { id: AgentId } | undefined) => store.roots({ limit, after: last?.id }),
    byId,
    ids(["ann", ...USERS].toReversed()),
  ),
  children: list(
    (store, limit, last: { id: AgentId } | undefined) => store.children(ANN, { limit, after: last?.id }),
    byId,
    ids(CHILDREN),
  ),
  "agents of a kind": list(
    (store, limit, last: { id: AgentId } | undefined) => store.agentsOfKind("subagent", { limit, after: last?.id }),
    byId,
    ids(CHILDREN),
  ),
  "busy agents": list(
    (store, limit, last: { id: AgentId } | undefined) => store.busyAgents({ limit, after: last?.id }),
    byId,
    ids(["ann", ...CHILDREN, ...USERS]),
  ),
  "recent conversations": list(
    (store, limit, last: { id: AgentId; lastHumanAt?: number } | undefined) =>
      store.recentForeground({ limit, before: last && { at: last.lastHumanAt ?? 0, agentId: last.id } }),
    byId,
    ids(["ann", ...RECENT]),
  ),
  "waiting messages": list(
    (store, limit, last: { seq: number } | undefined) => store.waiting(ANN, { limit, afterSeq: last?.seq }),
    ({ seq }) => String(seq),
    FIVE.map(String),
  ),
  "urgent messages": list(
    (store, limit, last: { seq: number } | undefined) =>
      store.waiting(ANN, { limit, afterSeq: last?.seq, urgent: true }),
    ({ seq }) => String(seq),
    ["2", "4"],
  ),
  messages: list(
    (store, limit, last: { seq: number } | undefined) => store.messages(ANN, { limit, beforeSeq: last?.seq }),
    ({ seq }) => String(seq),
    [10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map(String),
  ),
  "messages in a state": list(
    (store, limit, last: { seq: number } | undefined) =>
      store.messages(ANN, { limit, beforeSeq: last?.seq, states: ["failed"] }),
    ({ seq }) => String(seq),
    [10, 9, 8, 7, 6].map(String),
  ),
  "unanswered messages": list(
    (store, limit, last: { seq: number; settledAt?: number; agentId: AgentId } | undefined) =>
      store.unanswered({
        ...{ limit, states: ["failed"] },
        before: last && { at: last.settledAt ?? 0, agentId: last.agentId, seq: last.seq },
      }),
    ({ seq }) => String(seq),
    [10, 9, 8, 7, 6].map(String),
  ),
  lines: list(
    (store, limit, last: { position: number } | undefined) => store.linesBack(ANN, { limit, before: last?.position }),
    ({ position }) => String(position),
    [6, 5, 4, 3, 2, 1, 0].map(String),
  ),
  runs: list((store, limit, last: { id: RunId } | undefined) => store.runs(ANN, { limit, before: last?.id }), byId, [
    "open",
    ...FALLING.map((n) => `run ${n}`),
  ]),
  "open deliveries": list(
    (store, limit, last: { n: number; id: string } | undefined) => store.deliveries({ limit, afterN: last?.n }),
    byId,
    openDeliveries,
  ),
  "deliveries of an agent": list(
    (store, limit, last: { n: number; id: string } | undefined) =>
      store.deliveries({ limit, afterN: last?.n, agentId: ANN }),
    byId,
    openDeliveries,
  ),
  "deliveries to send": delivered(["pending", "sending"]),
  "waiting deliveries": delivered(["waiting-reader", "unroutable"]),
  "deliveries without a route": delivered(["unroutable"]),
  "failed deliveries": delivered(["failed"]),
  "failed and waiting deliveries": delivered(["failed", "unroutable"]),
  "a mailbox": list(
    (store, limit, last: { n: number; id: string } | undefined) =>
      store.mailbox(targetKey(BOX), { limit, afterN: last?.n }),
    byId,
    FIVE.map((n) => `waiting-reader ${n}`),
  ),
  jobs: list(
    (store, limit, last: { id: string } | undefined) => store.jobs({ limit, after: last?.id }),
    byId,
    FIVE.map((n) => `j${n}`),
  ),
  slots: list(
    (store, limit, last: { n: number; slot: string } | undefined) => store.jobSlots("j", { limit, beforeN: last?.n }),
    ({ slot }) => slot,
    FALLING.map(String),
  ),
  budgets: list(
    (store, limit, last: { key: string } | undefined) => store.budgets({ limit, after: last?.key }),
    ({ key }) => key,
    FIVE.map((n) => `day:${n}`),
  ),
  waits: list(
    (store, limit, last: { id: string } | undefined) => store.waits({ limit, after: last?.id }),
    byId,
    FIVE.map((n) => `w${n}`),
  ),
  "waits of an agent": list(
    (store, limit, last: { id: string } | undefined) => store.waits({ limit, after: last?.id, from: ANN }),
    byId,
    FIVE.map((n) => `w${n}`),
  ),
  swarms: list(
    (store, limit, last: { nametag: string } | undefined) => store.swarms({ limit, after: last?.nametag }),
    ({ nametag }) => nametag,
    FIVE.map((n) => `s${n}`),
  ),
  people: list(
    (store, limit, last: { id: string } | undefined) => store.people({ limit, after: last?.id }),
    byId,
    FIVE.map((n) => `p${n}`),
  ),
  files: list(
    (store, limit, last: { id: string } | undefined) => store.files({ limit, after: last?.id }),
    byId,
    FIVE.map((n) => `file_${n}`),
  ),
  "files of a person": list(
    (store, limit, last: { id: string } | undefined) => store.files({ limit, after: last?.id, person: "ann" }),
    byId,
    FIVE.map((n) => `file_${n}`),
  ),
};

export function listsContract(open: Opener): void {
  storeTest("every list is the same in pages of any size, and ends after its last row", open, async (world) => {
    await fill(world);
    for (const [what, { read, name, whole }] of Object.entries(LISTS)) {
      expect((await read(world.store, 100, undefined)).map(name), what).toEqual(whole);
      for (const limit of [1, 2]) {
        const rows: never[] = [];
        for (let page = await read(world.store, limit, undefined); page.length > 0; ) {
          expect(page.length, what).toBeLessThanOrEqual(limit);
          rows.push(...page);
          if (rows.length > whole.length) break;
          page = await read(world.store, limit, rows.at(-1));
        }
        expect(rows.map(name), `${what} in pages of ${limit}`).toEqual(whole);
      }
    }
    expect(await world.store.deliveries({ limit: 0 })).toEqual([]);
    const due = await world.store.approvalsDue({ limit: 3 });
    expect(due.map(({ id }) => id)).toEqual(["p5", "p4", "p3"]);
    expect((await world.store.approvalsDue({ limit: 9, by: START + 7 })).map(({ id }) => id)).toEqual([
      "p5",
      "p4",
      "p3",
    ]);
    expect((await world.store.nextJobs({ limit: 9, before: START + 3 })).map(({ id }) => id)).toEqual([
      "j5",
      "j4",
      "j3",
    ]);
    expect((await world.store.nextJobs({ limit: 1 })).map(({ id }) => id)).toEqual(["j5"]);
  });
}
