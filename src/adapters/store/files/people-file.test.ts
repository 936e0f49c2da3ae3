/** What a restored backup leaves of people and of what they allowed: nothing that may have been taken back or used since (M6). */
import { expect, test } from "vitest";
import type { AgentId, ChangeId, RunId } from "../../../core/ids.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { PersonRecord } from "../../../core/people/person-record.ts";
import type { ApprovalId } from "../../../core/rights/approval.ts";
import type { Op } from "../../../core/store/change.ts";
import { applyGroup } from "../sqlite/apply-change.ts";
import { openDatabase } from "../sqlite/database.ts";
import { readerOf } from "../sqlite/reader.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import { forgetOldPeople, peopleIn } from "./people-file.ts";
import { Workload } from "./workload.test-kit.ts";

const NOW = 1_800_000_000_000;
const ANN: PersonRecord = {
  id: "ann",
  role: "guest",
  accounts: ["test:1"],
  grants: [],
  createdAt: 1,
  createdBy: "owner",
};

/** A database with a question, a yes that was not used, and one that was; and with a person at the revision 1. */
function backup(people: readonly PersonRecord[] = [ANN]) {
  const db = openDatabase(":memory:");
  const work = new Workload(db);
  for (const person of people) work.commit([{ op: "person.put", person }]);
  const agentId: AgentId = work.agent("ann");
  const runId = work.take(agentId, [work.post(agentId, "hello")]);
  const ids = ["asked", "yes", "used"] as ApprovalId[];
  const ask = (id: ApprovalId): Op => ({
    op: "approval.ask",
    approval: {
      ...{ id, agentId, runId, callId: id, behalf: { person: "ann" as PersonId }, tool: "exec", arguments: {} },
      ...{ digest: id, prompt: "?", askedAt: 1, dueAt: NOW * 2 },
    },
  });
  const decide = (id: ApprovalId): Op => ({
    ...{ op: "approval.decide", id, agentId, digest: id, from: "pending", to: "approved" },
    ...{ by: "owner", surface: "cli" },
  });
  work.commit(ids.map(ask), work.owner(agentId));
  work.commit(ids.slice(1).map(decide));
  work.commit(
    [{ op: "approval.use", id: "used" as ApprovalId, digest: "used", by: { runId: "r9" as RunId, callId: "c9" } }],
    work.owner(agentId),
  );
  const states = async () =>
    Object.fromEntries((await readerOf(db).approvals({ limit: 9 })).map((one) => [one.id, [one.state, one.reason]]));
  return { db, files: new MemoryFiles(), states };
}

const USED = ["used", undefined];
const OLD = ["withdrawn", "withdrawn: the database was restored from a backup"];
const LOST = ["withdrawn", "withdrawn: the rights of people were lost"];
const fileOf = (revision: number): string => JSON.stringify({ version: 1, revision, people: [] });

test.each<[string, string | undefined, number, number]>([
  ["of the same rights", fileOf(1), 0, 1],
  ["of older rights", fileOf(0), 0, 1],
  ["of newer rights", fileOf(4), 1, 5],
  ["that cannot be read", "{", 1, 2],
  ["that is missing", undefined, 1, 2],
])("beside a file %s people stay or are strangers, and no unused yes counts", async (_title, text, lost, revision) => {
  const { db, files, states } = backup();
  if (text !== undefined) files.put("people.json", text);
  expect(forgetOldPeople(db, files, NOW)).toBe(lost);
  const reader = readerOf(db);
  expect(await reader.people({ limit: 9 })).toEqual(lost === 0 ? [ANN] : []);
  expect(await reader.personByAccount("test:1")).toEqual(lost === 0 ? ANN : undefined);
  expect(await reader.rightsRevision()).toBe(revision);
  expect(await states()).toEqual({ asked: lost === 0 ? ["pending", undefined] : LOST, yes: OLD, used: USED });
  // The account of a stranger may belong to anyone.
  const [next] = applyGroup(db, [
    { id: "next" as ChangeId, site: "test", at: NOW, ops: [{ op: "person.put", person: { ...ANN, id: "eve" } }] },
  ]);
  expect(next).toMatchObject({ ok: lost > 0 });
  const withdrawn = await reader.approval("yes" as ApprovalId);
  expect(withdrawn).toMatchObject({ decidedAt: NOW, decidedBy: "system" });
  db.close();
});

test("nobody is lost where nobody was known and no file says otherwise, and a yes is withdrawn all the same", async () => {
  const { db, files, states } = backup([]);
  expect(peopleIn(db)).toBeUndefined();
  expect(forgetOldPeople(db, files, NOW)).toBe(0);
  expect(await readerOf(db).rightsRevision()).toBe(0);
  expect(await states()).toEqual({ asked: ["pending", undefined], yes: OLD, used: USED });
  files.put("people.json", fileOf(1));
  expect(forgetOldPeople(db, files, NOW)).toBe(0);
  expect(await readerOf(db).rightsRevision()).toBe(2);
  expect(await states()).toMatchObject({ asked: LOST });
  db.close();
});
