/** The tables `people` and `person_accounts`: reads, and how ops on them are sent. */
import type { PersonRecord } from "../../../core/people/person-record.ts";
import { RIGHTS_REVISION } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readablePage, storedJson } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import type { Lock, OpForms } from "./op-form.ts";

const SELECT: Statement = { name: "select-person", text: "SELECT record FROM people WHERE id = $1" };
const SELECT_PAGE: Statement = {
  name: "select-people",
  text: "SELECT record FROM people WHERE id > $1 ORDER BY id LIMIT $2",
};
const SELECT_BY_ACCOUNT: Statement = {
  name: "select-person-by-account",
  text: `SELECT people.record FROM person_accounts JOIN people ON people.id = person_accounts.person
WHERE person_accounts.account = $1`,
};
const SELECT_REVISION: Statement = {
  name: "select-rights-revision",
  text: `SELECT value FROM facts WHERE key = '${RIGHTS_REVISION}'`,
};

interface RecordRow {
  readonly record: string;
}

const recordOf = ({ record }: RecordRow): PersonRecord => storedJson(record);

type PeopleReads = "person" | "people" | "personByAccount" | "rightsRevision";

export const peopleReads = (connections: Connections): Pick<StoreReader, PeopleReads> => ({
  person: async (id) => {
    const row = await connections.one<RecordRow>(SELECT, clean(id));
    return row && recordOf(row);
  },
  people: ({ after = "", limit }) =>
    readablePage(limit, recordOf, (asked) => connections.all<RecordRow>(SELECT_PAGE, clean(after), asked)),
  personByAccount: async (account) => {
    const row = await connections.one<RecordRow>(SELECT_BY_ACCOUNT, clean(account));
    return row && recordOf(row);
  },
  rightsRevision: async () => Number((await connections.one<{ value: string }>(SELECT_REVISION))?.value ?? 0),
});

/** Changes of people are rare and move one revision, so that they are applied one after the other. */
const PEOPLE_LOCK: readonly Lock[] = [["names", `fact ${RIGHTS_REVISION}`]];

export const peopleOps: OpForms<"person.put" | "person.remove" | "rights.move"> = {
  "person.put": {
    wire: ({ person, expect }) => ({
      id: clean(person.id),
      record: JSON.stringify(person),
      accounts: person.accounts.map(clean),
      expect,
    }),
    locks: () => PEOPLE_LOCK,
  },
  "person.remove": { wire: ({ id, expect }) => ({ id: clean(id), expect }), locks: () => PEOPLE_LOCK },
  "rights.move": { wire: () => ({}), locks: () => PEOPLE_LOCK },
};
