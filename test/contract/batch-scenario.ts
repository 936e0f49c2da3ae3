/** Agents, deliveries, facts and requests in every situation that a batch of changes can meet, and the changes that meet them. */
import { freshState } from "../../src/core/agent/fresh-state.ts";
import type { ChangeId, DeliveryId, EntryId, RunId } from "../../src/core/ids.ts";
import type { Change, Op, Owner, Settlement } from "../../src/core/store/change.ts";
import type { RequestEntry } from "../../src/core/store/request.ts";
import { childOf, idOf, keyOf, postOp, resetBody, runBody, START, sessionOf, userBody, type World } from "./fixture.ts";

/** When the changes are applied: later than everything before them. */
export const AT = START + 10_000;
const FAR = START * 2;
const EVENT = { kind: "system", text: "event", silent: true } as const;
const URGENT = { kind: "stop" } as const;
const run = (name: string): RunId => `${name}-run` as RunId;
const leaf = (name: string): EntryId => `${name}-leaf` as EntryId;
const to = (name: string) => ({ agentId: idOf(name) });
const content = (key: string, isRetry = false, keepUntil = FAR): RequestEntry => ({
  ...{ by: "content", key, isRetry, keepUntil },
});
const keyed = (key: string, digest = "d"): RequestEntry => ({ by: "key", key, digest, keepUntil: FAR });
const post = (name: string, rest = {}, body: Parameters<typeof postOp>[1] = userBody(name)): Op =>
  postOp(to(name), body, AT - 5, rest);
const settle = (...settlements: Settlement[]): Op => ({ op: "message.settle", settlements });
const answered = (seq: number): Settlement => ({ seq, from: "taken", state: "answered" });
const delivery = (id: string, rest = {}): Op => ({
  op: "delivery.add",
  delivery: {
    ...{ id: id as DeliveryId, agentId: idOf("steps"), target: { channel: id }, payload: { text: id }, createdAt: AT },
    ...rest,
  },
});
type Move = Extract<Op, { op: "delivery.move" }>;
const move = (id: string, from: Move["from"], attempts: number, moved: Move["to"], rest: Partial<Move> = {}): Op => ({
  ...{ op: "delivery.move", id: id as DeliveryId, from, attempts, to: moved },
  ...rest,
});
const take = (name: string, seqs: readonly number[], unlessResetAfter?: number): Op => ({
  ...{ op: "message.take", runId: run(name), seqs, unlessResetAfter },
});
const open = (name: string): Op => ({ op: "run.open", runId: run(name), body: runBody([1]) });
const end = (name: string): Op => ({ op: "run.end", runId: run(name), body: runBody(), outcome: "ok" });
const step = (name: string, attempt?: number): Op => ({
  op: "run.step",
  runId: run(name),
  body: runBody([1]),
  attempt,
});
const append = (position: number, name: string): Op => ({
  ...{ op: "entries.append", position, lines: ['"1"', '"2"'], leaf: leaf(name) },
});
const release: Op = { op: "agent.release" };
const put = (key: string, value: string | null, expect?: string | null): Op => ({ op: "fact.put", key, value, expect });

/** With an open run that has taken the first message. */
const RUNNING = ["steps", "ends", "endsleft", "rests", "wakes", "aborted", "stopped", "below", "later", "still"];
const WAITING = ["begins", "settles", "first", "reset", "urgent", "unreset", "seen"];
const RESTING = [
  "session",
  "moves",
  "twice",
  "free",
  "other",
  "nobody",
  "bykey",
  "asked",
  "asks",
  "fresh",
  "gone",
  "barred",
];
/** Whose last message is a request: answered, open, and one that is forgotten at the time of the changes. */
const REQUESTED = ["own", "opened", "due"];
/** Held by a node that has left, by one that has joined once more, and by one whose lease has ended. */
const ELSEWHERE = ["left", "again", "expired"];

export interface Scenario {
  /** The changes of each fit into one batch. A message to a session key may be for an agent that another change releases. */
  readonly batches: readonly (readonly Change[])[];
  /** Each of them makes a batch unfit. */
  readonly unfit: Readonly<Record<string, Change>>;
}

export async function batchScenario(world: World): Promise<Scenario> {
  const descriptors = new Map([
    ["below", childOf(idOf("stopped"), "below")],
    ["barred", childOf(idOf("below"), "barred")],
    ["nobody", childOf(idOf("begins"), "nobody")],
  ]);
  const all = [...RUNNING, ...WAITING, ...RESTING, ...REQUESTED, ...ELSEWHERE];
  await world.done(all.map((name): Op => ({ op: "agent.create", seed: world.seed(name, descriptors.get(name)) })));
  const [living, dead] = [await world.join("living", FAR), await world.join("dead", AT)];
  const [left, again] = [await world.join("left", FAR), await world.join("again", FAR)];
  const holders = new Map(Object.entries({ other: living, twice: dead, expired: dead, left, again }));
  const nodeOf = (name: string): number => holders.get(name) ?? world.node;
  const claimed = all.filter((name) => !["free", "nobody", "bykey"].includes(name));
  await world.done(claimed.map((name): Op => ({ op: "agent.claim", ...to(name), node: nodeOf(name) })));
  const ownerOf = (name: string, rest: Partial<Owner> = {}): Owner => ({
    ...{ agentId: idOf(name), node: nodeOf(name), epoch: 1 },
    ...rest,
  });
  await world.done([
    { op: "node.leave", node: left },
    { op: "node.join", name: "again", leaseUntil: FAR, was: again },
  ]);
  const first = [...RUNNING, ...WAITING, ...WAITING, ...WAITING, "endsleft", "steps", "still"];
  await world.done(first.map((name) => post(name)));
  await world.done([post("twice"), post("reset", {}, resetBody), post("urgent", {}, URGENT)]);
  await world.done([post("unreset", {}, resetBody), post("seen", {}, resetBody), post("seen")]);
  await world.done([{ op: "message.drop", ...to("unreset"), seq: 4, reason: "x" }]);
  for (const name of ["reset", "urgent", "unreset", "seen"])
    await world.openRun({ id: idOf(name), owner: ownerOf(name) }, run(name));
  for (const name of RUNNING) await world.openRun({ id: idOf(name), owner: ownerOf(name) }, run(name), [1]);
  await world.done([settle(answered(1)), end("later")], ownerOf("later"));
  for (const name of ["rests", "wakes"])
    await world.done([{ op: "run.suspend", runId: run(name), suspended: true }], ownerOf(name));
  await world.done(
    ["d1", "d2", "d3", "d4", "d5"].map((id) => delivery(id)),
    ownerOf("steps"),
  );
  for (const id of ["d2", "d4"])
    await world.done([move(id, "pending", 0, "sending", { node: living, receipt: `${id}-1` })]);
  await world.done([put("kept", "1"), put("changed", "1"), put("removed", "1"), put("over", "1")]);
  // The rows of requests: open, finished, followed by a later message, both, of an agent that is gone, and only a reply.
  for (const key of ["open", "finished"]) await world.done([post("asked", { request: content(key) }, EVENT)]);
  for (const key of ["followed", "both"]) await world.done([post("asks", { request: content(key, false, AT + 1) })]);
  for (const key of REQUESTED)
    await world.done([post(key, { request: content(key, false, key === "due" ? AT : AT + 1) })]);
  await world.done([
    post("asks"),
    { op: "request.put", request: { ...keyed("reply"), by: "key", digest: "d" }, reply: "r" },
  ]);
  await world.done([post("gone", { request: content("gone"), dedupe: { key: "gone", keepUntil: FAR } })]);
  await world.done([
    post("fresh", { dedupe: { key: "seen", keepUntil: FAR } }),
    post("asked", { request: keyed("key") }, EVENT),
  ]);
  const finish = (key: string, name: string, seq: number): Op => ({ op: "request.finish", key, ...to(name), seq });
  await world.done([finish("finished", "asked", 2), finish("both", "asks", 2), finish("own", "own", 1)]);
  await world.done([{ op: "agent.erase", ...to("gone"), tombstone: "gone" }]);
  await world.done([{ op: "run.abort", runId: run("aborted"), mark: { reason: "person", at: START } }]);
  await world.done([{ op: "agent.stop", ...to("stopped"), mark: { at: START, reason: "x" } }]);

  let made = 0;
  const change = (ops: readonly Op[], owner?: Owner): Change => ({
    ...{ id: `same-${made++}` as ChangeId, site: "same", at: AT, owner, ops },
  });
  const by = (name: string, ops: readonly Op[], rest: Partial<Owner> = {}): Change => change(ops, ownerOf(name, rest));
  const at = (name: string, stepped = 1, evenAborted?: boolean): Partial<Owner> => ({
    run: { id: run(name), step: stepped, evenAborted },
  });
  const entry = {
    at: AT,
    person: "ann",
    surface: "cli",
    agentId: idOf("twice"),
    action: "x",
    decision: "allow",
  } as const;
  return {
    batches: [
      [
        by("begins", [open("begins"), take("begins", [1])], { rights: 0, sessionId: sessionOf(1) }),
        by(
          "steps",
          [
            append(2, "steps"),
            settle({ ...answered(1), reason: "done" }),
            { op: "state.put", state: { ...freshState(AT), sessionStartedAt: AT } as never },
            step("steps", 2),
            delivery("d6", { runId: run("steps"), createdAt: AT - 9 }),
            delivery("d7", { ended: { state: "suppressed", reason: "silent" } }),
          ],
          at("steps"),
        ),
        by("ends", [settle({ ...answered(1), runId: run("other") }), end("ends"), release], at("ends")),
        by("endsleft", [settle(answered(1)), end("endsleft"), release], at("endsleft")),
        by("rests", [release]),
        by("wakes", [end("wakes")]),
        by("settles", [settle({ seq: 2, from: "waiting", state: "failed", reason: "no" }), release]),
        by("first", [
          settle({ seq: 1, from: "waiting", state: "failed" }, { seq: 2, from: "waiting", state: "discarded" }),
          { op: "leaf.move", leaf: leaf("first") },
        ]),
        by("session", [{ op: "session.begin", sessionId: sessionOf(2) }, release]),
        by("moves", [{ op: "leaf.move", leaf: leaf("moves") }]),
        by("aborted", [step("aborted")], at("aborted", 1, true)),
        by("below", [step("below")], at("below", 1, true)),
        by("barred", [append(2, "barred")]),
        by("reset", [take("reset", [1, 2, 3], 4)]),
        by("urgent", [take("urgent", [1, 2, 3, 4], 1)]),
        by("seen", [take("seen", [1], 4)]),
        by("unreset", [take("unreset", [2], 2)]),
        change([
          post("twice", { claimFor: world.node, dedupe: { key: "one", keepUntil: FAR } }, EVENT),
          post("twice", { request: keyed("new") }, resetBody),
          post("free", { claimFor: world.node }),
        ]),
        change([
          post("twice", { claimFor: world.node }, URGENT),
          post("other", { claimFor: world.node }),
          post("nobody"),
        ]),
        change([post("fresh"), post("begins", { request: content("both", true) })]),
        change([
          post("due", { request: content("due"), claimFor: living }),
          post("asks", { request: content("gone") }),
        ]),
        change([...ELSEWHERE.slice(0, 2).map((name) => post(name, { claimFor: world.node })), post("expired")]),
        change([post("steps", {}, EVENT), post("own", { request: content("own") })]),
        change([move("d1", "pending", 0, "sending", { node: living })]),
        change([move("d2", "sending", 1, "sent", { receipt: "d2-2" })]),
        change([move("d3", "pending", 0, "pending", { nextAt: AT + 50, reason: "later" })]),
        change([move("d4", "sending", 1, "failed", { reason: "no" })]),
        change([put("changed", "2", "1"), put("removed", null, "1"), put("new", "1", null), put("over", "2")]),
        change([
          { op: "audit.add", entry },
          { op: "audit.add", entry: { ...entry, person: "bob" } },
        ]),
        change([finish("open", "asked", 1), finish("key", "asked", 9), finish("reply", "asked", 3)]),
      ],
      [
        change([postOp({ sessionKey: keyOf("bykey") }, userBody("x"), AT - 7, { request: content("finished") })]),
        by("later", [append(2, "later")]),
      ],
    ],
    unfit: {
      "another node": by("begins", [append(2, "begins")], { node: living }),
      "another epoch": by("begins", [append(2, "begins")], { epoch: 2 }),
      "another session": by("begins", [append(2, "begins")], { sessionId: sessionOf(2) }),
      "a position before the end": by("begins", [append(1, "begins")]),
      "a position after the end": by("begins", [append(3, "begins")]),
      "a second run": by("steps", [{ op: "run.open", runId: run("second"), body: runBody() }]),
      "a step of another agent's run": by("steps", [step("ends")]),
      "a step of no run": by("begins", [step("ends")]),
      "the end of another agent's run": by("steps", [end("ends")]),
      "a later step": by("steps", [step("steps")], at("steps", 2)),
      "another agent's run as its own": by("steps", [append(2, "steps")], at("ends")),
      "a run that has ended": by("later", [append(2, "later")], at("later", 2)),
      "a run that was aborted": by("aborted", [step("aborted")], at("aborted")),
      "a step of an agent that was stopped": by("stopped", [step("stopped")], at("stopped")),
      "a step below one that was stopped": by("below", [step("below")], at("below")),
      "a run far below one that was stopped": by("barred", [open("barred")]),
      "a take before a reset": by("reset", [take("reset", [1], 3)]),
      "a take of what is taken": by("steps", [take("steps", [1])]),
      "a take of what is not there": by("begins", [open("begins"), take("begins", [1, 9])]),
      "a settlement of what waits as taken": by("begins", [settle(answered(1))]),
      "a settlement of what is taken as waiting": by("steps", [settle({ seq: 1, from: "waiting", state: "failed" })]),
      "other rights": by("begins", [open("begins")], { rights: 1 }),
      "a fact with another value": change([put("kept", "2", "2")]),
      "a fact that must not exist": change([put("kept", "2", null)]),
      "a fact that must exist": change([put("none", "2", "1")]),
      "a delivery in another state": change([move("d1", "sending", 0, "sent")]),
      "a delivery after more attempts": change([move("d2", "sending", 0, "sent")]),
      "no such delivery": change([move("none", "pending", 0, "sending")]),
      "no such recipient": change([post("none")]),
      "no such key": change([postOp({ sessionKey: keyOf("none") }, userBody("x"), AT)]),
      "a recipient that was removed": change([post("gone")]),
      "a message that was accepted before": change([post("free", { dedupe: { key: "seen", keepUntil: FAR } })]),
      "a message of one who is forgotten": change([post("free", { dedupe: { key: "gone", keepUntil: FAR } })]),
      "an open request once more": change([post("asked", { request: content("open") })]),
      "a request that another followed": change([post("asks", { request: content("followed") })]),
      "a retry of a finished request": change([post("asked", { request: content("finished", true) })]),
      "a retry of a request that another followed": change([post("asks", { request: content("followed", true) })]),
      "a retry of a finished request that was the last": change([post("own", { request: content("own", true) })]),
      "an open request that was the last once more": change([post("opened", { request: content("opened") })]),
      "a key once more": change([post("asked", { request: keyed("key") })]),
      "a request that has only a reply": change([post("asked", { request: content("reply") })]),
    },
  };
}
