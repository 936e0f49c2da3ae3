/**
 * `people.json`: who is known, with the revision of their rights, and which conversations were carried over. A wrong or old file must not give anyone a right back, so
 * it is taken whole or not at all: without it everyone but the owner is a stranger (M6).
 */
import { z } from "zod";
import { RookeryError } from "../../../core/errors.ts";
import { OWNER } from "../../../core/people/person.ts";
import { type PersonRecord, personRecordSchema } from "../../../core/people/person-record.ts";
import { OPEN_APPROVALS } from "../../../core/rights/approval.ts";
import { CONVERSATIONS_FACT, RIGHTS_REVISION } from "../../../core/store/change.ts";
import { withdrawAll } from "../sqlite/approvals.ts";
import type { Database } from "../sqlite/database.ts";
import { readFact, writeFact } from "../sqlite/facts.ts";
import { clearPeople, firstPeople, rightsRevision, writePerson } from "../sqlite/people.ts";
import { PEOPLE_FILE } from "./file-format.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import { parseJson } from "./read-agent-files.ts";
import type { RestoreContext } from "./restore-context.ts";

const fileSchema = z.object({
  version: z.literal(1),
  revision: z.number().int().min(0),
  people: z.array(personRecordSchema),
  /** Scopes of conversations, and those that were carried over. */
  conversations: z.record(z.string(), z.unknown()).optional(),
});

export const peopleFile = (
  revision: number,
  people: readonly PersonRecord[],
  conversations: string | undefined,
): object => ({
  version: 1,
  revision,
  people,
  conversations: conversations === undefined ? undefined : (JSON.parse(conversations) as unknown),
});

/** The content of the file; undefined if no one was ever recorded. */
export function peopleIn(db: Database): object | undefined {
  const revision = rightsRevision(db);
  return revision === 0 ? undefined : peopleFile(revision, firstPeople(db, -1), readFact(db, CONVERSATIONS_FACT));
}

const WITHDRAWN = "withdrawn: the rights of people were lost";

/**
 * How many people were restored. The revision moves on, so that no decision from before counts. Without a file that can be
 * used, open approvals are withdrawn: the rights they were asked under are not known.
 */
export function restorePeople(context: RestoreContext, now: number): number {
  const restored = readPeople(context);
  if (restored === undefined) withdrawAll(context.db, now, WITHDRAWN, OPEN_APPROVALS);
  return restored ?? 0;
}

function readPeople({ db, files, report, keep }: RestoreContext): number | undefined {
  const text = files.read(PEOPLE_FILE)?.toString();
  if (text === undefined) return undefined;
  try {
    const file = fileSchema.safeParse(parseJson(text, PEOPLE_FILE));
    if (file.success) {
      for (const person of file.data.people) writePerson(db, person);
      writeFact(db, RIGHTS_REVISION, String(file.data.revision + 1));
      const { conversations } = file.data;
      if (conversations) writeFact(db, CONVERSATIONS_FACT, JSON.stringify(conversations));
      return file.data.people.length;
    }
    report({
      file: PEOPLE_FILE,
      reason: z.prettifyError(file.error),
      consequence: "file-skipped",
      code: "corrupt_data",
    });
  } catch (error) {
    if (!(error instanceof RookeryError)) throw error;
    report({ file: PEOPLE_FILE, reason: error.message, consequence: "file-skipped", code: error.code });
  }
  keep(PEOPLE_FILE);
  return undefined;
}

/**
 * After a restored backup: if rights have changed since it was made, or if that cannot be told, everyone but the owner
 * becomes a stranger and open approvals are withdrawn. A yes that the backup holds as unused may have been used since, so it
 * is withdrawn in any case. Returns how many people lost their record.
 */
export function forgetOldPeople(db: Database, files: MirrorFiles, now: number): number {
  withdrawAll(db, now, "withdrawn: the database was restored from a backup", ["approved"]);
  const people = firstPeople(db, -1);
  const text = files.read(PEOPLE_FILE)?.toString();
  if (people.length === 0 && text === undefined) return 0;
  const newest = revisionIn(text);
  const revision = rightsRevision(db);
  if (newest !== undefined && newest <= revision) return 0;
  clearPeople(db);
  keepStrictRules(db, people);
  withdrawAll(db, now, WITHDRAWN, OPEN_APPROVALS);
  writeFact(db, RIGHTS_REVISION, String(Math.max(revision, newest ?? 0) + 1));
  return people.length;
}

/** The owner's denials and questions stay: without them more would be allowed. */
function keepStrictRules(db: Database, people: readonly PersonRecord[]): void {
  const owner = people.find(({ id }) => id === OWNER);
  const grants = owner?.grants.filter((grant) => !("allow" in grant)) ?? [];
  if (owner && grants.length > 0) writePerson(db, { ...owner, grants });
}

function revisionIn(text: string | undefined): number | undefined {
  try {
    return fileSchema.parse(JSON.parse(text ?? "")).revision;
  } catch {
    return undefined;
  }
}
