/** Work whose end nobody knows is ended once, for each agent, and nothing else is touched (M6, M9, M21). */
import { beforeEach, describe, expect, test } from "vitest";
import { shortened } from "../../../core/cut-text.ts";
import type { NewDelivery } from "../../../core/delivery/delivery.ts";
import type { AgentId, ChangeId, Ids, RunId } from "../../../core/ids.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { readerOf } from "../sqlite/reader.ts";
import { endUnfinishedWork } from "./end-unfinished-work.ts";
import { Workload } from "./workload.test-kit.ts";

const NOW = 1_800_000_000_000;
const WHY = "the database was rebuilt";
let db: Database;
let work: Workload;
let ids: Ids;
let ann: AgentId;
beforeEach(() => {
  db = openDatabase(":memory:");
  work = new Workload(db);
  let count = 0;
  const uuid = () => `00000000-0000-7000-9000-${(++count).toString(16).padStart(12, "0")}`;
  ids = { agent: () => "x" as AgentId, uuid, change: () => `end-${++count}` as ChangeId };
  ann = work.agent("ann");
});

/** The process that held everything is gone. */
const end = (only?: AgentId) => {
  if (!only) work.commit([{ op: "node.leave", node: work.node }]);
  return endUnfinishedWork(db, { ids, now: NOW, why: WHY, only });
};
const all = (text: string) => db.sql.prepare(text).all();
const changes = (): number => Number(all("SELECT count(*) AS count FROM changes")[0]?.count);
const linesOf = (): Record<string, unknown>[] =>
  all("SELECT line FROM entries ORDER BY pos").map(({ line }) => JSON.parse(String(line)));

describe("ending unfinished work", () => {
  test("does nothing to a store at rest", () => {
    const seq = work.post(ann, "hello");
    work.sent(work.answer(ann, work.take(ann, [seq]), [seq]));
    work.post(ann, "waits");
    work.commit([{ op: "node.leave", node: work.node }]);
    const before = changes();
    expect(endUnfinishedWork(db, { ids, now: NOW, why: WHY })).toEqual({ runs: 0, messages: 0, deliveries: 0 });
    expect(changes()).toBe(before);
  });

  test("ends the run as lost, settles what it took, tells the agent where the answer went, and leaves no node", async () => {
    const [one, two] = [work.post(ann, "first question"), work.post(ann, "second question")];
    work.post(ann, "waits");
    const runId = work.take(ann, [one, two]);
    expect(end()).toEqual({ runs: 1, messages: 2, deliveries: 0 });
    const reader = readerOf(db);
    expect(await reader.run(runId)).toMatchObject({
      ...{ state: "ended", outcome: "lost", endedAt: NOW },
      body: {
        seqs: [one, two],
        delivery: { to: ann },
        calls: [],
        error: { kind: "internal", message: `Lost: ${WHY}.` },
      },
    });
    for (const seq of [one, two])
      expect(await reader.message(ann, seq)).toMatchObject({ state: "failed", reason: `lost: ${WHY}`, runId });
    const [waits, told] = await reader.waiting(ann, { limit: 9 });
    expect(waits).toMatchObject({ body: { kind: "user", text: "waits" } });
    expect(told).toMatchObject({ acceptedAt: NOW, delivery: { to: ann }, body: { kind: "system" } });
    const text = told && "text" in told.body ? (told.body.text ?? "") : "";
    expect(text.split("\n").slice(0, 4)).toEqual([
      `Your last run was lost: ${WHY}.`,
      "These messages were being answered and may not have been:",
      "- first question",
      "- second question",
    ]);
    expect(all("SELECT node FROM nodes WHERE gone = 0")).toEqual([]);
    expect(linesOf()).toHaveLength(3);
    expect(end()).toEqual({ runs: 0, messages: 0, deliveries: 0 });
  });

  test("tells an agent whose run took no message, with nothing to quote", async () => {
    work.commit([{ op: "agent.claim", agentId: ann, node: work.node }]);
    const runId = work.take(ann, []);
    expect(end()).toEqual({ runs: 1, messages: 0, deliveries: 0 });
    expect(await readerOf(db).run(runId)).toMatchObject({ outcome: "lost" });
    const [told] = await readerOf(db).waiting(ann, { limit: 9 });
    expect(told).toMatchObject({ body: { kind: "system", text: expect.stringContaining("Your last run was lost") } });
    expect(JSON.stringify(told)).not.toContain("These messages");
  });

  test("answers where the run was to answer, and without a run where the last message came from", async () => {
    const delivery = (to: string) => ({ channel: "telegram", to });
    const post = (to: string): number => {
      const message = { body: { kind: "user", text: to } as const, delivery: delivery(to), acceptedAt: work.now };
      const [posted] = work.commit([{ op: "message.post", to: { agentId: ann }, message, claimFor: work.node }]);
      return posted?.op === "message.post" ? posted.seq : 0;
    };
    const seqs = [post("first"), post("second")];
    const runId = work.take(ann, seqs);
    const body = { ...work.body(seqs, ann), delivery: delivery("of the run") };
    work.commit([{ op: "run.amend", runId, body }], work.owner(ann));
    end(ann);
    const told = async () => (await readerOf(db).waiting(ann, { limit: 9 })).at(-1);
    expect(await told()).toMatchObject({ body: { kind: "system" }, delivery: delivery("of the run") });
    // A run whose row was lost: its messages are still taken.
    work.take(ann, [post("third"), post("fourth")]);
    db.sql.exec("UPDATE agents SET run_id = NULL");
    db.agentCache.clear();
    expect(end(ann)).toEqual({ runs: 0, messages: 2, deliveries: 0 });
    expect(await told()).toMatchObject({ body: { kind: "system" }, delivery: delivery("fourth") });
  });

  test("quotes a message by its first words, and one without text by its kind", async () => {
    const long = "a very long question ".repeat(50);
    const [one, two] = [work.post(ann, long), work.post(ann, "short")];
    const message = { body: { kind: "reset", by: "person" } as const, acceptedAt: work.now };
    const [posted] = work.commit([{ op: "message.post", to: { agentId: ann }, message }]);
    work.take(ann, [one, two, posted?.op === "message.post" ? posted.seq : 0]);
    end();
    const [told] = await readerOf(db).waiting(ann, { limit: 9 });
    const quotes = (told && "text" in told.body ? (told.body.text ?? "") : "").split("\n").slice(2, 5);
    expect(quotes.slice(1)).toEqual(["- short", "- (reset)"]);
    expect(quotes[0]?.startsWith("- a very long question")).toBe(true);
    expect(quotes[0]).toBe(`- ${shortened(long, 200)}`);
  });

  test("leaves a run that has ended as it is, and still settles the one message that it had taken", async () => {
    const seq = work.post(ann, "hello");
    const runId = work.take(ann, [seq]);
    db.sql.exec("UPDATE runs SET state = 'ended', outcome = 'ok', ended_at = 7");
    expect(end(ann)).toEqual({ runs: 0, messages: 1, deliveries: 0 });
    const reader = readerOf(db);
    expect(await reader.run(runId)).toMatchObject({ state: "ended", outcome: "ok", endedAt: 7 });
    expect(await reader.message(ann, seq)).toMatchObject({ state: "failed", runId });
    const [told] = await reader.waiting(ann, { limit: 9 });
    expect(told).toMatchObject({ body: { kind: "system", text: expect.stringContaining("\n- hello\n") } });
  });

  test("goes on past lines that cannot be read", () => {
    work.take(ann, [work.post(ann, "hello")]);
    const answer = {
      type: "message",
      role: "assistant",
      content: [{ type: "toolCall", id: "a", name: "exec", arguments: {} }],
    };
    for (const entry of [answer, { type: "someday" }]) work.commit([work.append(ann, entry)], work.owner(ann));
    const { leaf } = work.row(ann);
    for (const line of ["{", "null", '{"type":"someday"}'])
      work.commit(
        [{ op: "entries.append", position: work.row(ann).next_pos, lines: [line], leaf: leaf as never }],
        work.owner(ann),
      );
    end(ann);
    const results = all("SELECT line FROM entries ORDER BY pos").filter(({ line }) =>
      String(line).includes('"toolCallId":"a"'),
    );
    expect(results).toHaveLength(1);
  });

  test("makes unsent deliveries unconfirmed, and leaves what waits for a reader", async () => {
    const seq = work.post(ann, "hello");
    const runId = work.take(ann, [seq]);
    const owner = work.owner(ann);
    const add = (rest: Pick<NewDelivery, "waits">): NewDelivery => {
      const delivery = { ...work.delivery(ann, runId), ...rest };
      work.commit([{ op: "delivery.add", delivery }], owner);
      return delivery;
    };
    add({});
    const { id } = add({});
    work.commit([{ op: "delivery.move", id, from: "pending", attempts: 0, to: "sending" }]);
    add({ waits: { state: "unroutable" } });
    add({ waits: { state: "waiting-reader" } });
    work.commit(
      [
        { op: "message.settle", settlements: [{ seq, from: "taken", state: "answered", runId }] },
        { op: "run.end", runId, body: work.body([seq], ann), outcome: "ok" },
      ],
      owner,
    );
    expect(end()).toEqual({ runs: 0, messages: 0, deliveries: 3 });
    const rows = all("SELECT state, reason FROM deliveries ORDER BY n");
    expect(rows.map(({ state }) => state)).toEqual(["unconfirmed", "unconfirmed", "unconfirmed", "waiting-reader"]);
    expect(rows[0]?.reason).toContain(WHY);
    // Nothing was being answered, so the agent has nothing to tell.
    expect(await readerOf(db).waiting(ann, { limit: 9 })).toEqual([]);
  });

  test("charges what was reserved, also if no agent has anything else that is open", () => {
    const seq = work.post(ann, "hello");
    const runId = work.take(ann, [seq]);
    work.reserve(ann, "call");
    work.answer(ann, runId, [seq]);
    db.sql.exec("UPDATE deliveries SET state = 'sent'");
    expect(end()).toEqual({ runs: 0, messages: 0, deliveries: 0 });
    expect(all("SELECT id FROM reservations")).toEqual([]);
    const [row] = all("SELECT reserved_micros, spent_micros, estimated_micros FROM budgets ORDER BY key");
    expect(row).toMatchObject({ reserved_micros: 0 });
    expect(Number(row?.estimated_micros)).toBeGreaterThan(0);
  });

  test("of one agent leaves every other, and every reservation", async () => {
    const bob = work.agent("bob");
    const runs = new Map<AgentId, RunId>();
    for (const agentId of [ann, bob]) runs.set(agentId, work.take(agentId, [work.post(agentId, "hello")]));
    work.reserve(bob, "call");
    work.commit([{ op: "agent.release" }], work.owner(ann));
    db.sql.exec("UPDATE agents SET node = NULL");
    db.agentCache.clear();
    expect(end(ann)).toEqual({ runs: 1, messages: 1, deliveries: 0 });
    const reader = readerOf(db);
    expect(await reader.run(runs.get(ann) as RunId)).toMatchObject({ outcome: "lost" });
    expect(await reader.run(runs.get(bob) as RunId)).toMatchObject({ state: "open" });
    expect(all("SELECT id FROM reservations")).toHaveLength(1);
  });
});

describe("open tool calls of a lost run", () => {
  const call = (id: string) => ({ type: "toolCall", id, name: "exec", arguments: {} });
  const said = (role: string, content: object[], more: object = {}) => ({ type: "message", role, content, ...more });
  const text = (value: string) => ({ type: "text", text: value });

  /** A run whose history ends with these entries; the ids of the calls that got a result, in order. */
  const results = (entries: readonly Record<string, unknown>[], calls: readonly object[] = []): unknown[] => {
    const runId = work.take(ann, [work.post(ann, "hello")]);
    for (const entry of entries) work.commit([work.append(ann, entry)], work.owner(ann));
    const body = { ...work.body([1], ann), calls: calls as never };
    work.commit([{ op: "run.amend", runId, body }], work.owner(ann));
    const before = linesOf();
    end();
    const added = linesOf().slice(before.length);
    // Each follows the one before it, and the last is the tip.
    let parent = before.at(-1)?.id;
    for (const line of added) {
      expect(line).toMatchObject({ parentId: parent, role: "tool", isError: true, runId, timestamp: NOW });
      parent = line.id;
    }
    expect(all("SELECT leaf, next_pos FROM agents")).toEqual([
      { leaf: parent, next_pos: before.length + added.length },
    ]);
    return added.map(({ toolCallId, toolName, content }) => [
      toolCallId,
      toolName,
      (content as { text: string }[])[0]?.text.split(":")[0],
    ]);
  };

  test("get a result that says whether they were started", () => {
    const started = [
      { callId: "a", state: "asked" },
      { callId: "b", state: "started" },
    ];
    expect(results([said("assistant", [text("I look."), call("a"), call("b"), call("c")])], started)).toEqual([
      ["a", "exec", "Not started"],
      ["b", "exec", "Outcome unknown"],
      ["c", "exec", "Outcome unknown"],
    ]);
  });

  test("that have a result get no second one", () => {
    const entries = [
      said("assistant", [call("a"), call("b")]),
      said("tool", [text("done")], { toolCallId: "a", toolName: "exec" }),
      { type: "someday", what: "an unknown kind in between" },
    ];
    expect(results(entries)).toEqual([["b", "exec", "Outcome unknown"]]);
  });

  test("of an earlier turn are left alone", () => {
    expect(results([said("assistant", [call("a")]), said("user", [text("go on")])])).toEqual([]);
    expect(linesOf().filter(({ role }) => role === "tool")).toEqual([]);
  });

  test("are found behind more lines than are read at once", () => {
    const entries = [said("assistant", [call("a")]), ...Array.from({ length: 205 }, () => ({ type: "someday" }))];
    expect(results(entries)).toEqual([["a", "exec", "Outcome unknown"]]);
  });

  test("of a branch that was left get none", () => {
    const runId = work.take(ann, [work.post(ann, "hello")]);
    const leaf = work.leaf(ann);
    work.commit([work.append(ann, said("assistant", [call("left")]))], work.owner(ann));
    work.commit([{ op: "leaf.move", leaf }], work.owner(ann));
    const before = linesOf().length;
    expect(end()).toMatchObject({ runs: 1 });
    expect(linesOf()).toHaveLength(before);
    expect(all(`SELECT outcome FROM runs WHERE id = '${runId}'`)).toEqual([{ outcome: "lost" }]);
  });
});
