/** The tables `people` and `person_accounts`: who is known, and whose each account is. Every change moves the revision of rights. */
import type { PersonRecord } from "../../../core/people/person-record.ts";
import { type Op, RIGHTS_REVISION } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readablePage, storedJson } from "../rows.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { readFact, writeFact } from "./facts.ts";
import { RefusedChange } from "./refused.ts";

const SELECT = "SELECT record FROM people WHERE id = ?";
const SELECT_PAGE = "SELECT record FROM people WHERE id > ? ORDER BY id LIMIT ?";
const SELECT_BY_ACCOUNT = `SELECT people.record FROM person_accounts JOIN people ON people.id = person_accounts.person
WHERE person_accounts.account = ?`;
const PUT = "INSERT INTO people (id, record) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record";
const REMOVE = "DELETE FROM people WHERE id = ?";
const SELECT_OTHER = "SELECT person FROM person_accounts WHERE account = ? AND person <> ?";
const PUT_ACCOUNT = "INSERT INTO person_accounts (account, person) VALUES (?, ?) ON CONFLICT (account) DO NOTHING";
const REMOVE_ALL = "DELETE FROM people";
const REMOVE_ALL_ACCOUNTS = "DELETE FROM person_accounts";
const REMOVE_ACCOUNTS = "DELETE FROM person_accounts WHERE person = ?";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

interface RecordRow {
  readonly record: string;
}

const recordOf = ({ record }: RecordRow): PersonRecord => storedJson(record);

export const rightsRevision = (db: Database): number => Number(readFact(db, RIGHTS_REVISION) ?? 0);

export const peopleReads = (
  db: Database,
): Pick<StoreReader, "person" | "people" | "personByAccount" | "rightsRevision"> => ({
  person: async (id) => {
    const row = db.get<RecordRow>(SELECT, id);
    return row && recordOf(row);
  },
  people: ({ after = "", limit }) =>
    readablePage(limit, recordOf, (asked) => db.all<RecordRow>(SELECT_PAGE, after, asked)),
  personByAccount: async (account) => {
    const row = db.get<RecordRow>(SELECT_BY_ACCOUNT, account);
    return row && recordOf(row);
  },
  rightsRevision: async () => rightsRevision(db),
});

/** By id. Throws `CorruptDataError` if one cannot be parsed. */
export const firstPeople = (db: Database, limit: number): PersonRecord[] =>
  db.all<RecordRow>(SELECT_PAGE, "", limit).map(recordOf);

export function writePerson(db: Database, person: PersonRecord): void {
  db.run(PUT, person.id, JSON.stringify(person));
  db.run(REMOVE_ACCOUNTS, person.id);
  for (const account of person.accounts) db.run(PUT_ACCOUNT, account, person.id);
}

export function clearPeople(db: Database): void {
  db.run(REMOVE_ALL);
  db.run(REMOVE_ALL_ACCOUNTS);
}

export function putPerson(applying: Applying, { person, expect }: OpOf<"person.put">): undefined {
  const { db } = applying;
  expectRevision(db, expect);
  for (const account of person.accounts) {
    const other = db.get<{ person: string }>(SELECT_OTHER, account, person.id);
    if (other) throw new RefusedChange("conflict", `The account ${account} belongs to ${other.person}.`);
  }
  writePerson(db, person);
  moveRevision(applying);
}

export function removePerson(applying: Applying, { id, expect }: OpOf<"person.remove">): undefined {
  const { db } = applying;
  expectRevision(db, expect);
  if (!db.get(SELECT, id)) throw new RefusedChange("missing", `There is no person ${id}.`);
  db.run(REMOVE, id);
  db.run(REMOVE_ACCOUNTS, id);
  moveRevision(applying);
}

export function moveRights(applying: Applying): undefined {
  return moveRevision(applying);
}

function expectRevision(db: Database, expect: number | undefined): void {
  if (expect !== undefined && rightsRevision(db) !== expect) {
    throw new RefusedChange("conflict", "The rights of people have changed.");
  }
}

function moveRevision({ db, touched }: Applying): undefined {
  touched.add("people");
  writeFact(db, RIGHTS_REVISION, String(rightsRevision(db) + 1));
}
