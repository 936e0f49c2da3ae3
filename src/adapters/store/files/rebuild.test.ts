import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createId } from "@paralleldrive/cuid2";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import { targetKey } from "../../../core/delivery/target-key.ts";
import type { AgentId, ChangeId, DeliveryId, Ids, RunId, SessionKey } from "../../../core/ids.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { ApprovalId } from "../../../core/rights/approval.ts";
import { CONVERSATIONS_FACT, type Op, RIGHTS_REVISION } from "../../../core/store/change.ts";
import { applyGroup } from "../sqlite/apply-change.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { readerOf } from "../sqlite/reader.ts";
import { diskFiles } from "./disk-files.ts";
import { rebuildNeeded } from "./inspect.ts";
import { expectFilesMatch } from "./matches-database.test-kit.ts";
import { openMirror } from "./mirror.ts";
import type { MirrorNotice } from "./mirror-notice.ts";
import { rebuild } from "./rebuild.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { lifeOf, Workload } from "./workload.test-kit.ts";

const NOW = 1_800_000_000_000;
let home: string;
let path: string;
let ids: Ids;
let opened: Database[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-rebuild-"));
  path = join(home, "rookery.db");
  let count = 0;
  const uuid = () => `00000000-0000-7000-9000-${(++count).toString(16).padStart(12, "0")}`;
  ids = { agent: () => createId() as AgentId, uuid, change: () => `rebuild-${++count}` as ChangeId };
});
afterEach(() => {
  for (const db of opened) db.close();
  opened = [];
  rmSync(home, { recursive: true, force: true });
});

const open = (): Database => {
  const db = openDatabase(path, { synchronous: "off" });
  opened.push(db);
  return db;
};

function mirrored(db: Database): MirrorNotice[] {
  const notices: MirrorNotice[] = [];
  const mirror = openMirror({
    source: sqliteSource(db.sql),
    files: diskFiles(home),
    now: () => NOW,
    report: (notice) => notices.push(notice),
  });
  while (mirror.step().more);
  mirror.close();
  return notices;
}

/** Runs a workload, mirrors it, and deletes the database. */
function lived(live: (work: Workload) => void): void {
  const db = open();
  live(new Workload(db));
  mirrored(db);
  loseDatabase();
}

function loseDatabase(): void {
  for (const db of opened) db.close();
  opened = [];
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

const run = () => rebuild({ home, databasePath: path, ids, now: NOW });
const USER = { type: "user", connector: "telegram" } as const;
const ann = "ann".padEnd(24, "0") as AgentId;
const bob = "bob".padEnd(24, "0") as AgentId;
const file = (agent: AgentId, name: string) => join(home, "agents", agent, name);
const read = (agent: AgentId, name: string) => readFileSync(file(agent, name), "utf8");

/** Tables whose rows are restored unchanged. */
const RESTORED = [
  ...["entries", "dedupe", "jobs", "job_slots", "subagent_runs", "session_keys", "budgets", "budget_told"],
] as const;

describe("rebuilding from the plain files", () => {
  test("happens automatically only if neither the database nor its log exists", () => {
    expect(rebuildNeeded(home, path)).toBe(false);
    lived((work) => work.agent("ann"));
    expect(rebuildNeeded(home, path)).toBe(true);
    writeFileSync(`${path}-wal`, "");
    expect(rebuildNeeded(home, path)).toBe(false);
    rmSync(`${path}-wal`);
    writeFileSync(path, "");
    expect(rebuildNeeded(home, path)).toBe(false);
  });

  const guest = { id: "ann", role: "guest", accounts: ["telegram:42"], grants: [{ allow: "exec" }] } as const;
  const person = { ...guest, createdAt: 1, createdBy: "owner" } as const;

  test("restores for whom messages, jobs, children and sessions are, and who is on their way", async () => {
    const behalf = { person: "ann" as PersonId, through: ["telegram:7" as PersonId], untrusted: true } as const;
    lived((work) => {
      work.agent("ann");
      const body = { kind: "system", text: "note" } as const;
      work.commit([{ op: "message.post", to: { agentId: ann }, message: { body, behalf, acceptedAt: 1 } }]);
      work.job("look");
      const [row] = work.db.sql.prepare("SELECT job FROM jobs").all() as { job: string }[];
      const job = { ...JSON.parse(row?.job ?? ""), behalf };
      work.commit([{ op: "job.put", job }]);
      work.subagentRun("child-1");
      const [child] = work.db.sql.prepare("SELECT record FROM subagent_runs").all() as { record: string }[];
      work.commit([{ op: "subagent.put", record: { ...JSON.parse(child?.record ?? ""), behalf } }]);
      const state = { ...work.seed("ann").state, speakers: ["bob"] };
      work.post(ann, "hello");
      work.commit([{ op: "state.put", state }], work.owner(ann));
    });
    run();
    const store = readerOf(open());
    expect((await store.waiting(ann, { limit: 5 }))[0]?.behalf).toEqual(behalf);
    expect((await store.job("look"))?.behalf).toEqual(behalf);
    expect((await store.subagentRun("child-1"))?.behalf).toEqual(behalf);
    expect(await store.agent(ann)).toMatchObject({ person: "telegram:ann", state: { speakers: ["bob"] } });
  });

  test("restores files and who refers to them, also what only the history names", async () => {
    const file = (name: string): StoredFile => ({
      ...{ id: `file_${name}`, sha: "0".repeat(64), name, mimeType: "text/plain", size: 1, blob: `blob-${name}` },
      ...{ behalf: { person: "ann" as PersonId }, createdAt: 1, shown: { as: "reference" } },
    });
    lived((work) => {
      work.agent("ann");
      for (const name of ["a0", "b1", "c2"]) {
        work.commit([{ op: "file.stage", blobs: [`blob-${name}`], until: 9e12 }]);
        work.commit([{ op: "file.put", file: file(name), quota: 100 }]);
      }
      work.commit([{ op: "file.hold", files: ["file_a0"], by: { agentId: ann } }]);
      const files = [{ id: "file_b1", name: "b1", mimeType: "text/plain", size: 1 }];
      const message = { body: { kind: "user", text: "look", files }, acceptedAt: 1 } as const;
      work.commit([
        {
          op: "message.post",
          to: { agentId: ann },
          message: { ...message, body: { ...message.body, files: [...files] } },
        },
      ]);
    });
    expect(run()).toMatchObject({ storedFiles: 3, problems: [] });
    const store = readerOf(open());
    expect(await store.file("file_a0")).toEqual(file("a0"));
    const held = await Promise.all(["file_a0", "file_b1", "file_c2"].map((id) => store.holdsFile(ann, id)));
    expect(held).toEqual([true, true, false]);
  });

  test("restores people with their accounts and grants, under a later revision", async () => {
    lived((work) => work.commit([{ op: "person.put", person }]));
    expect(run()).toMatchObject({ people: 1, problems: [] });
    const store = readerOf(open());
    expect(await store.personByAccount("telegram:42")).toEqual(person);
    expect(await store.rightsRevision()).toBe(2);
  });

  test("restores which conversations were carried over to another scope", async () => {
    const value = JSON.stringify({
      scope: "per-peer",
      earlier: [],
      carried: { "agent:main:dm:ann": "agent:main:telegram:dm:42" },
    });
    lived((work) => {
      work.commit([{ op: "person.put", person }]);
      work.commit([
        { op: "fact.put", key: CONVERSATIONS_FACT, value },
        { op: "fact.put", key: RIGHTS_REVISION, value: "2" },
      ]);
    });
    expect(run()).toMatchObject({ people: 1, problems: [] });
    expect(await readerOf(open()).fact(CONVERSATIONS_FACT)).toBe(value);
  });

  test.each([
    ["cannot be read", "{"],
    ["has no revision", JSON.stringify({ version: 1, people: [person] })],
    [
      "has one invalid person",
      JSON.stringify({ version: 1, revision: 1, people: [person, { id: "bob", role: "owner" }] }),
    ],
  ])("restores nobody if people.json %s: everyone but the owner is a stranger", async (_, text) => {
    lived((work) => work.commit([{ op: "person.put", person }]));
    writeFileSync(join(home, "people.json"), text);
    const report = run();
    expect(report).toMatchObject({ people: 0, problems: [{ file: "people.json", consequence: "file-skipped" }] });
    expect(await readerOf(open()).people({ limit: 10 })).toEqual([]);
    expect(readFileSync(join(home, `people.json.unread-${NOW}`), "utf8")).toBe(text);
  });

  /** Ann's agent has a question, a yes that was not used, and one that was. */
  function asked(work: Workload): void {
    work.commit([{ op: "person.put", person }]);
    work.agent("ann");
    work.post(ann, "hello");
    const runId = work.take(ann, [1]);
    const approval = (id: string) => ({
      ...{ id: id as ApprovalId, agentId: ann, runId, callId: id, behalf: { person: "ann" as PersonId } },
      ...{ tool: "exec", arguments: { command: "date" }, digest: id, prompt: "Run date?", askedAt: 1, dueAt: NOW },
    });
    const yes = (id: string): Op => ({
      ...{ op: "approval.decide", id: id as ApprovalId, agentId: ann, digest: id, from: "pending", to: "approved" },
      ...{ until: NOW + 5, by: "owner", surface: "cli" },
    });
    const owner = work.owner(ann);
    work.commit(
      ["abcd", "efgh", "mnpq"].map((id): Op => ({ op: "approval.ask", approval: approval(id) })),
      owner,
    );
    work.commit([yes("efgh"), yes("mnpq")]);
    work.commit(
      [{ op: "approval.use", id: "mnpq" as ApprovalId, digest: "mnpq", by: { runId: "r9" as RunId, callId: "c9" } }],
      owner,
    );
    work.commit([{ op: "run.suspend", runId, suspended: true }], owner);
  }

  test("restores open approvals and unused yeses, and the run that waited for them is lost", async () => {
    lived(asked);
    expect(run()).toMatchObject({ lost: { runs: 1 }, problems: [] });
    const store = readerOf(open());
    const rows = await store.approvals({ limit: 10 });
    expect(rows.map(({ id, state, dueAt, decidedBy }) => [id, state, dueAt, decidedBy])).toEqual([
      ["efgh", "approved", NOW + 5, "owner"],
      ["abcd", "pending", NOW, undefined],
    ]);
    expect(await store.agent(ann)).not.toHaveProperty("suspended", true);
    expect((await store.agent(ann))?.runId).toBeUndefined();
  });

  test.each([undefined, "{"])("withdraws them if people.json is missing or cannot be read", async (text) => {
    lived(asked);
    if (text === undefined) rmSync(join(home, "people.json"));
    else writeFileSync(join(home, "people.json"), text);
    run();
    const rows = await readerOf(open()).approvals({ limit: 10 });
    expect(rows.map(({ state }) => state)).toEqual(["withdrawn", "withdrawn"]);
  });

  test("restores a permanent agent with its latest descriptor, and a swarm with its contacts", async () => {
    const clerk = { type: "permanent", id: "c", name: "clerk", description: "d", systemPrompt: "old" } as const;
    const api = {
      nametag: "desk",
      owner: ann,
      profile: "main",
      firstName: "D",
      systemPrompt: "p",
      memory: false,
      createdAt: 1,
    };
    lived((work) => {
      const agentId = work.agent("clerk", clerk);
      mirrored(work.db);
      work.commit([{ op: "agent.claim", agentId, node: work.node }]);
      work.commit([{ op: "agent.describe", descriptor: { ...clerk, systemPrompt: "new" } }], work.owner(agentId));
      work.commit([{ op: "swarm.put", swarm: api }]);
      work.agent("ann");
      const servant = work.agent("servant", { type: "swarm", id: "desk", contact: ann });
      work.commit([{ op: "swarm.contact", nametag: "desk", contact: ann, agentId: servant, received: 3 }]);
    });
    expect(run()).toMatchObject({ agents: 3, swarms: 1, problems: [] });
    const store = readerOf(open());
    expect((await store.agent("clerk".padEnd(24, "0") as AgentId))?.descriptor).toEqual({
      ...clerk,
      systemPrompt: "new",
    });
    expect(await store.swarm("desk")).toEqual(api);
    expect(await store.swarmContact("desk", ann)).toMatchObject({
      agentId: "servant".padEnd(24, "0"),
      messagesReceived: 0,
    });
  });

  test("a waiting message still waits, a taken one is lost and reported, an unsent delivery becomes unconfirmed", async () => {
    let runId = "" as RunId;
    let delivery = "" as DeliveryId;
    lived((work) => {
      work.agent("ann");
      work.post(ann, "answered");
      delivery = work.answer(ann, work.take(ann, [1]), [1]).id;
      work.post(ann, "taken");
      runId = work.take(ann, [2]);
      work.post(ann, "waits");
    });
    const report = run();
    expect(report).toMatchObject({
      agents: 1,
      waiting: 1,
      lost: { runs: 1, messages: 1, deliveries: 1 },
      problems: [],
    });
    const store = readerOf(open());
    expect(await store.message(ann, 3)).toMatchObject({ state: "waiting", body: { text: "waits" } });
    expect(await store.message(ann, 2)).toMatchObject({
      state: "failed",
      runId,
      reason: expect.stringContaining("lost"),
    });
    expect(await store.run(runId)).toMatchObject({ state: "ended", outcome: "lost" });
    expect(await store.delivery(delivery)).toMatchObject({
      state: "unconfirmed",
      payload: { text: expect.any(String) },
    });
    const waiting = await store.waiting(ann, { limit: 10 });
    expect(waiting.map((message) => message.seq)).toEqual([3, 4]);
    expect(waiting[1]).toMatchObject({
      body: { kind: "system", text: expect.stringContaining("- taken") },
      delivery: { channel: "telegram", to: ann },
    });
    expect(await store.agent(ann)).toMatchObject({ waiting: 2, cursor: 2, nextSeq: 5, runId: undefined, epoch: 0 });
    expect(await store.nodes()).toEqual([]);
  });

  test("what waits in a mailbox stays there, what had no route becomes unconfirmed", async () => {
    const target = { channel: "api", to: "ann" };
    lived((work) => {
      work.agent("ann");
      work.commit([{ op: "agent.claim", agentId: ann, node: work.node }]);
      const waits = { state: "waiting-reader" } as const;
      const nowhere = { state: "unroutable", reason: 'no connector "later"' } as const;
      for (const more of [{ target, waits }, { waits: nowhere }]) {
        work.commit([{ op: "delivery.add", delivery: { ...work.delivery(ann), ...more } }], work.owner(ann));
      }
    });
    expect(run()).toMatchObject({ agents: 1, lost: { runs: 0, messages: 0, deliveries: 1 }, problems: [] });
    const store = readerOf(open());
    expect(await store.mailbox(targetKey(target), { limit: 10 })).toMatchObject([{ state: "waiting-reader", target }]);
    expect(await store.waitingDeliveries()).toEqual({ "waiting-reader": 1, unroutable: 0 });
    expect(await store.deliveries({ limit: 9, states: ["unconfirmed"] })).toHaveLength(1);
  });

  test("restores every agent unchanged: identity, state, history, keys, jobs and subagent runs", async () => {
    const before: unknown[] = [];
    lived((work) => {
      for (const act of lifeOf(work)) act();
      work.answer(ann, work.row(ann).run_id as RunId, [2]);
      for (const table of RESTORED) {
        before.push(rowsOf(work.db, table));
      }
      before.push(agentsOf(work.db));
    });
    const report = run();
    expect(report).toMatchObject({ agents: 2, jobs: 2, subagentRuns: 1, dedupeKeys: 5, waiting: 1, problems: [] });
    expect(report.gap).toBeUndefined();
    const db = open();
    const after: unknown[] = [];
    for (const table of RESTORED) {
      after.push(rowsOf(db, table));
    }
    expect([...after, agentsOf(db)]).toEqual(before);
  });

  test("keeps the spent amounts, and charges the reservations of unfinished calls as estimates", async () => {
    lived((work) => {
      work.agent("ann");
      work.post(ann, "hello");
      work.take(ann, [1]);
      work.reserve(ann, "call-1");
      work.commit([{ op: "budget.settle", id: "call-1", actual: { tokens: 20, micros: 30 } }]);
      work.reserve(ann, "call-2");
    });
    expect(run()).toMatchObject({ budgets: 2, lost: { runs: 1 }, problems: [] });
    const store = readerOf(open());
    expect(await store.reservations({ limit: 10 })).toEqual([]);
    expect(await store.budget("day:2026-01-31")).toMatchObject({
      spent: { tokens: 170, micros: 230 },
      estimated: { tokens: 150, micros: 200 },
      reserved: { tokens: 0, micros: 0 },
    });
  });

  test("an invalid budget row is reported and kept in a copy", () => {
    lived((work) => {
      work.agent("ann");
      work.post(ann, "hello");
      work.take(ann, [1]);
      work.reserve(ann, "call-1");
    });
    const budgets = JSON.parse(readFileSync(join(home, "budgets.json"), "utf8"));
    budgets.budgets[0].spent = "much";
    writeFileSync(join(home, "budgets.json"), JSON.stringify(budgets));
    expect(run()).toMatchObject({ budgets: 1, problems: [{ file: "budgets.json", consequence: "item-skipped" }] });
    expect(readFileSync(join(home, `budgets.json.unread-${NOW}`), "utf8")).toContain("much");
  });

  const rowsOf = (db: Database, table: string) =>
    table === "entries"
      ? db.sql.prepare("SELECT agent, pos, line FROM entries ORDER BY agent, pos").all()
      : db.sql.prepare(`SELECT * FROM ${table}`).all();
  const agentsOf = (db: Database) =>
    db.sql
      .prepare(
        "SELECT no, id, session_key, profile, person, kind, descriptor, created_at, session_id, next_seq, next_pos, leaf, last_human_at, state FROM agents",
      )
      .all();

  test("lets the mirror continue without moving anything aside", () => {
    lived((work) => {
      for (const act of lifeOf(work)) act();
    });
    run();
    const db = open();
    expect(mirrored(db)).toEqual([]);
    expectFilesMatch(db, diskFiles(home));
  });

  test("a message accepted before the rebuild is recognised after it", () => {
    lived((work) => {
      work.agent("ann");
      work.post(ann, "once");
    });
    run();
    const db = open();
    expect(db.sql.prepare("SELECT agent, seq FROM dedupe").all()).toMatchObject([{ agent: 1, seq: 1 }]);
  });

  test("a request with a key that was accepted before the rebuild is recognised after it", async () => {
    const request = { by: "key", key: "api:t:k", digest: "d", keepUntil: NOW * 2 } as const;
    const post = (agentId: AgentId): Op => ({
      op: "message.post",
      to: { agentId },
      message: { body: { kind: "user", text: "once" }, key: request.key, acceptedAt: 1 },
      request,
    });
    lived((work) => {
      work.agent("ann");
      work.commit([post(ann)]);
    });
    run();
    const db = open();
    expect(await readerOf(db).request(request.key)).toMatchObject({ message: { agentId: ann, seq: 1 } });
    const [again] = applyGroup(db, [{ id: ids.change(), site: "test", at: NOW, ops: [post(ann)] }]);
    expect(again).toMatchObject({ ok: true, results: [{ duplicate: true, seq: 1 }] });
  });

  test("an open tool call gets a result, so that providers still accept the history", async () => {
    lived((work) => {
      work.agent("ann");
      work.post(ann, "look");
      const runId = work.take(ann, [1]);
      const call = (id: string) => ({ type: "toolCall", id, name: "look", arguments: {} });
      const content = [call("c1"), call("c2"), call("c3")];
      const body = {
        ...work.body([1], ann),
        calls: ["c1", "c2", "c3"].map((callId, index) => ({
          callId,
          name: "look",
          arguments: {},
          replay: "never" as const,
          state: (["done", "intended", "asked"] as const)[index] ?? "asked",
        })),
      };
      work.commit(
        [work.append(ann, { type: "message", role: "assistant", content }), { op: "run.step", runId, body }],
        work.owner(ann),
      );
      const result = { type: "message", role: "tool", toolCallId: "c1", content: [{ type: "text", text: "seen" }] };
      work.commit([work.append(ann, result)], work.owner(ann));
    });
    run();
    const lines = await readerOf(open()).linesBack(ann, { limit: 3 });
    expect(lines.map(({ line }) => JSON.parse(line))).toMatchObject([
      { role: "tool", toolCallId: "c3", content: [{ text: expect.stringContaining("Not started") }] },
      { role: "tool", toolCallId: "c2", content: [{ text: expect.stringContaining("Outcome unknown") }] },
      { role: "tool", toolCallId: "c1", content: [{ text: "seen" }] },
    ]);
  });

  test("a message that waits in pending.json but is in the history counts as taken", async () => {
    lived((work) => {
      work.agent("ann");
      work.post(ann, "hello");
      mirrored(work.db);
      const pending = read(ann, "pending.json");
      work.take(ann, [1]);
      mirrored(work.db);
      // The power failed after the history was appended and before the other file was replaced.
      writeFileSync(file(ann, "pending.json"), pending);
    });
    run();
    const store = readerOf(open());
    expect(await store.message(ann, 1)).toMatchObject({ state: "failed" });
    expect(await store.waiting(ann, { limit: 10 })).toMatchObject([{ seq: 2, body: { kind: "system" } }]);
  });

  test("an agent with an invalid descriptor is kept on the disk and reported, and the others are restored", async () => {
    lived((work) => {
      work.agent("ann");
      work.agent("bob");
    });
    writeFileSync(file(ann, "descriptor.json"), '{ "type": "unknown" }\n');
    const report = run();
    expect(report.agents).toBe(1);
    expect(report.problems).toMatchObject([
      { file: `agents/${ann}/descriptor.json`, consequence: "agent-skipped", code: "corrupt_data" },
    ]);
    const db = open();
    expect(await readerOf(db).agent(bob)).toBeDefined();
    mirrored(db);
    expect(read(ann, "descriptor.json")).toBe('{ "type": "unknown" }\n');
  });

  test("the mark of untrusted text stays: in the state, in the entry, and with what waits", async () => {
    lived((work) => {
      work.agent("ann");
      const message = { body: { kind: "user", text: "look" } as const, acceptedAt: NOW };
      const behalf = { person: "ann" as PersonId, untrusted: true } as const;
      work.commit([{ op: "message.post", to: { agentId: ann }, message: { ...message, behalf } }]);
    });
    const state = JSON.parse(read(ann, "state.json"));
    writeFileSync(file(ann, "state.json"), JSON.stringify({ ...state, untrusted: true, madeUntrusted: true }));
    const entry = { type: "message", id: "00000009-mark", parentId: null, role: "user", content: [], timestamp: NOW };
    const line = JSON.stringify({ ...entry, untrusted: { from: "tool:fetch" } });
    const history = read(ann, "history.jsonl").trimEnd();
    writeFileSync(file(ann, "history.jsonl"), `${history}\n${line}\n`);
    run();
    const store = readerOf(open());
    expect((await store.agent(ann))?.state).toMatchObject({ untrusted: true, madeUntrusted: true });
    expect((await store.waiting(ann, { limit: 1 }))[0]?.behalf).toMatchObject({ untrusted: true });
    expect((await store.linesBack(ann, { limit: 1 }))[0]?.line).toBe(line);
  });

  describe("a missing state.json beside a good descriptor and history", () => {
    const losesState = (also: (work: Workload) => void = () => {}) => {
      lived((work) => {
        work.agent("ann");
        work.post(ann, "hello");
        work.answer(ann, work.take(ann, [1]), [1]);
        work.post(ann, "still waiting");
        also(work);
      });
      rmSync(file(ann, "state.json"));
    };

    test("costs the state, not the conversation: key, profile, history and inbox stay", async () => {
      losesState();
      const history = read(ann, "history.jsonl");
      const report = run();
      expect(report).toMatchObject({ agents: 1, waiting: 1 });
      expect(report.problems).toMatchObject([{ file: `agents/${ann}/state.json`, consequence: "state-lost" }]);
      const db = open();
      const store = readerOf(db);
      const agent = await store.agentByKey("agent:main:telegram:dm:ann" as SessionKey);
      expect(agent).toMatchObject({ id: ann, profile: "main", state: { version: 1 } });
      expect(agent?.createdAt).toBe(1_790_000_000_010);
      expect(agent?.sessionId).toBe(JSON.parse(history.split("\n")[0] ?? "").id);
      expect(await store.waiting(ann, { limit: 10 })).toMatchObject([{ seq: 2 }]);
      mirrored(db);
      expect(read(ann, "history.jsonl")).toBe(history);
      expectFilesMatch(db, diskFiles(home));
    });

    test("counts as one with untrusted text: the mark may be lost with it", async () => {
      losesState();
      run();
      expect((await readerOf(open()).agent(ann))?.state.untrusted).toBe(true);
    });

    test("keeps a stop", async () => {
      losesState((work) => work.commit([{ op: "agent.stop", agentId: ann, mark: { at: 1, reason: "enough" } }]));
      run();
      expect((await readerOf(open()).agent(ann))?.stopped).toMatchObject({ reason: "enough" });
    });

    test("without pending.json too, the key follows from the descriptor", async () => {
      losesState();
      rmSync(file(ann, "pending.json"));
      expect(run().agents).toBe(1);
      const agent = await readerOf(open()).agent(ann);
      expect(agent?.sessionKey).toBe(sessionKeyOf({ ...USER, userId: "ann", channelId: "ann" }, "main"));
    });

    test("takes no key that another agent has", async () => {
      losesState((work) => work.agent("bob"));
      rmSync(file(ann, "pending.json"));
      const key = sessionKeyOf({ ...USER, userId: "ann", channelId: "ann" }, "main");
      writeFileSync(file(bob, "state.json"), read(bob, "state.json").replace("agent:main:telegram:dm:bob", key));
      expect(run().agents).toBe(1);
      expect((await readerOf(open()).agentByKey(key))?.id).toBe(bob);
    });
  });

  test("an agent whose state is from a newer version is skipped and left unchanged", () => {
    lived((work) => {
      work.agent("ann");
      work.agent("bob");
    });
    const newer = read(ann, "state.json").replace('"version": 1', '"version": 2');
    writeFileSync(file(ann, "state.json"), newer);
    const report = run();
    expect(report.problems).toMatchObject([
      { file: `agents/${ann}/state.json`, reason: expect.stringContaining("version 2"), consequence: "agent-skipped" },
    ]);
    mirrored(open());
    expect(read(ann, "state.json")).toBe(newer);
  });

  test("a line that is not JSON stays in place, is skipped, and is reported with its number", async () => {
    lived((work) => {
      work.agent("ann");
      work.post(ann, "hello");
      work.answer(ann, work.take(ann, [1]), [1]);
    });
    const lines = read(ann, "history.jsonl").split("\n");
    lines[2] = "{ not json";
    writeFileSync(file(ann, "history.jsonl"), lines.join("\n"));
    const report = run();
    expect(report.problems).toMatchObject([
      {
        file: `agents/${ann}/history.jsonl`,
        line: 3,
        consequence: "line-skipped",
        reason: expect.stringContaining("JSON"),
      },
    ]);
    const db = open();
    const stored = await readerOf(db).linesBack(ann, { limit: 10 });
    expect(stored.map(({ position }) => position)).toEqual([3, 2, 1, 0]);
    expect(mirrored(db)).toEqual([]);
    expect(read(ann, "history.jsonl")).toBe(lines.join("\n"));
  });

  test("an entry of an unknown type is kept, and the history continues after it", async () => {
    lived((work) => {
      work.agent("ann");
      work.commit([{ op: "agent.claim", agentId: ann, node: work.node }]);
      work.commit([work.append(ann, { type: "someday", what: 1 })], work.owner(ann));
    });
    const history = read(ann, "history.jsonl");
    const report = run();
    expect(report.problems).toEqual([]);
    const db = open();
    mirrored(db);
    expect(read(ann, "history.jsonl")).toBe(history);
    const { id } = JSON.parse(history.trim().split("\n")[2] ?? "") as { id: string };
    expect((await readerOf(db).agent(ann))?.leaf).toBe(id);
    // The same if only the history shows the tip.
    loseDatabase();
    rmSync(file(ann, "pending.json"));
    run();
    expect((await readerOf(open()).agent(ann))?.leaf).toBe(id);
  });

  test("a torn last line is cut off, kept beside the file, and reported", () => {
    lived((work) => work.agent("ann"));
    const history = read(ann, "history.jsonl");
    writeFileSync(file(ann, "history.jsonl"), `${history}{"type":"mess`);
    const report = run();
    expect(report.problems).toMatchObject([{ line: 3, consequence: "line-repaired" }]);
    expect(read(ann, "history.jsonl")).toBe(history);
    expect(read(ann, "history.jsonl.torn")).toBe('{"type":"mess\n');
    expect(report.entries).toBe(2);
  });

  test("a last line that lacks only its line end gets one", () => {
    lived((work) => work.agent("ann"));
    const history = read(ann, "history.jsonl");
    writeFileSync(file(ann, "history.jsonl"), history.slice(0, -1));
    expect(run().entries).toBe(2);
    expect(read(ann, "history.jsonl")).toBe(history);
  });

  test("an unusable pending.json loses the pending work, and is kept in a copy", () => {
    lived((work) => {
      work.agent("ann");
      work.post(ann, "hello");
    });
    writeFileSync(file(ann, "pending.json"), "{ half");
    const report = run();
    expect(report).toMatchObject({ agents: 1, waiting: 0, problems: [{ consequence: "file-skipped" }] });
    mirrored(open());
    expect(read(ann, `pending.json.unread-${NOW}`)).toBe("{ half");
  });

  test("two directories with one session key: the first stays, the second is reported", () => {
    lived((work) => {
      work.agent("ann");
      work.now += 1000;
      work.agent("bob");
    });
    writeFileSync(file(bob, "state.json"), read(bob, "state.json").replace("dm:bob", "dm:ann"));
    const report = run();
    expect(report.agents).toBe(1);
    expect(report.problems).toMatchObject([{ file: `agents/${bob}`, consequence: "agent-skipped" }]);
  });

  test("reports what may be missing if the program did not stop cleanly", () => {
    lived((work) => work.agent("ann"));
    writeFileSync(join(home, "mirror.json"), readFileSync(join(home, "mirror.json"), "utf8").replace("true", "false"));
    expect(run().gap).toContain("the last second");
  });

  test("an interrupted rebuild leaves no database behind, and can be run again", () => {
    lived((work) => work.agent("ann"));
    const broken: Ids = {
      ...ids,
      change: () => {
        throw new Error("cut");
      },
    };
    expect(() => rebuild({ home, databasePath: path, ids: broken, now: NOW })).toThrow("cut");
    expect(existsSync(path)).toBe(false);
    expect(rebuildNeeded(home, path)).toBe(true);
    expect(run().agents).toBe(1);
    expect(readdirSync(home).filter((name) => name.startsWith("rookery.db"))).toEqual(["rookery.db"]);
  });
});
