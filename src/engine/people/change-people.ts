/**
 * Adds, changes and removes people's records, one commit each: the record, the row of the audit log, and what the caller adds.
 * A change is computed from the record it replaces and repeated if someone else changed a right in between (M30).
 */
import { z } from "zod";
import { ConflictError, InvalidInputError, NotFoundError } from "../../core/errors.ts";
import { unknownKeys } from "../../core/known-keys.ts";
import { type Grant, parseSubject, type Verdict, verdictOf } from "../../core/people/grant.ts";
import { type PersonRecord, personRecordSchema } from "../../core/people/person-record.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { assertZone } from "../../core/zoned-time.ts";
import { submit } from "../commit/submit.ts";
import { type Actor, auditOp } from "./audit-entry.ts";
import { FROM_CONFIG } from "./configured-people.ts";

export type PeoplePorts = Pick<Ports, "store" | "ids" | "clock">;

type NewPerson = Pick<PersonRecord, "id"> &
  Partial<Pick<PersonRecord, "name" | "role" | "accounts" | "grants" | "limits" | "timeZone" | "language">>;

/** `null` removes a field. */
type PersonPatch = {
  readonly [Name in "name" | "timeZone" | "language" | "limits"]?: PersonRecord[Name] | null;
} & { readonly role?: PersonRecord["role"] };

/** Ops that are committed with a change, made of its result. */
export type Also = (person: PersonRecord) => readonly Op[];

const TRIES = 5;

export async function requirePerson({ store }: { readonly store: Pick<StoreReader, "person"> }, id: string) {
  const person = await store.person(id);
  if (person) return person;
  throw new NotFoundError(`There is no person ${id.slice(0, 64)}.`, {
    hint: "`rookery people` lists them; `rookery people add` makes one.",
  });
}

/** Durable when it resolves. Throws a `ConflictError` if the id or an account is taken. */
export async function addPerson(ports: PeoplePorts, by: Actor, person: NewPerson, also?: Also): Promise<PersonRecord> {
  const at = ports.clock.now();
  const record = checked({ role: "guest", ...person, createdAt: at, createdBy: by.person });
  await assertAccountsFree(ports, record);
  return commitPut(ports, by, { before: undefined, next: record, action: "person.add", args: person }, also);
}

export interface PersonChange {
  readonly action: string;
  /** What was asked for, for the digest. */
  readonly args: unknown;
  change(person: PersonRecord): PersonRecord;
}

/** Durable when it resolves. */
export async function changePerson(
  ports: PeoplePorts,
  by: Actor,
  id: string,
  { action, args, change }: PersonChange,
  also?: Also,
): Promise<PersonRecord> {
  for (let tries = 1; ; tries++) {
    const revision = await ports.store.rightsRevision();
    const before = await requirePerson(ports, id);
    // A record that someone changes here is no longer that of the configuration, which would undo the change.
    const createdBy = before.createdBy === FROM_CONFIG ? by.person : before.createdBy;
    const next = checked({ ...change(before), createdBy });
    await assertAccountsFree(ports, next);
    try {
      return await commitPut(ports, by, { before, next, action, args, expect: revision }, also);
    } catch (error) {
      if (!(error instanceof ConflictError) || tries >= TRIES) throw error;
    }
  }
}

interface Put {
  readonly before: PersonRecord | undefined;
  readonly next: PersonRecord;
  readonly action: string;
  readonly args: unknown;
  readonly expect?: number;
}

async function commitPut(ports: PeoplePorts, by: Actor, put: Put, also?: Also): Promise<PersonRecord> {
  const { before, next, action, args } = put;
  const at = ports.clock.now();
  const expect = put.expect ?? (await ports.store.rightsRevision());
  // Read after the revision: a record that appeared since has moved it.
  if (!before && (await ports.store.person(next.id))) {
    throw new ConflictError(`There is a person ${next.id} already.`, {
      hint: "Choose another id, or change that record with `rookery people set`.",
    });
  }
  const done = await submit(ports, "person.put", [
    { op: "person.put", person: next, expect },
    auditOp(by, at, { action, target: next.id, args }),
    ...(also?.(next) ?? []),
  ]);
  if (!done.ok) throw new ConflictError(`The record of ${next.id} was not changed: ${done.detail}`, RETRY);
  return next;
}

const RETRY = { hint: "Try again." };

/** `also` is committed with the removal: what must end with the person. */
export async function removePerson(
  ports: PeoplePorts,
  by: Actor,
  id: string,
  also: readonly Op[] = [],
): Promise<PersonRecord> {
  const before = await requirePerson(ports, id);
  if (before.createdBy === FROM_CONFIG) {
    throw new InvalidInputError(`${id} is a person of the configuration, which would make the record again.`, {
      hint: `Remove people.records.${id} from the configuration.`,
    });
  }
  const action = "person.remove";
  const done = await submit(ports, action, [
    { op: "person.remove", id },
    auditOp(by, ports.clock.now(), { action, target: id }),
    ...also,
  ]);
  if (done.ok) return before;
  if (done.refused === "missing") return requirePerson(ports, id);
  throw new ConflictError(`${id} was not removed: ${done.detail}`, RETRY);
}

export const patched =
  (patch: PersonPatch) =>
  (person: PersonRecord): PersonRecord => {
    const next: Record<string, unknown> = { ...person };
    for (const [name, value] of Object.entries(patch)) {
      if (value === null) delete next[name];
      else if (value !== undefined) next[name] = value;
    }
    return next as PersonRecord;
  };

export const linked =
  (account: string) =>
  (person: PersonRecord): PersonRecord => ({
    ...person,
    accounts: [...person.accounts.filter((one) => one !== account.trim()), account.trim()],
  });

export const unlinked =
  (account: string) =>
  (person: PersonRecord): PersonRecord => {
    if (person.accounts.includes(account)) {
      return { ...person, accounts: person.accounts.filter((one) => one !== account) };
    }
    throw new NotFoundError(`${person.id} has no account ${account}.`, {
      hint: listed(person.accounts, "The accounts are", "There are no accounts."),
    });
  };

/** A grant replaces the one with the same subject. */
export const granted =
  (grant: Grant) =>
  (person: PersonRecord): PersonRecord => {
    const { subject } = verdictOf(grant);
    return { ...person, grants: [...person.grants.filter((one) => verdictOf(one).subject !== subject), grant] };
  };

export const revoked =
  (subject: string) =>
  (person: PersonRecord): PersonRecord => {
    const grants = person.grants.filter((one) => verdictOf(one).subject !== subject);
    if (grants.length < person.grants.length) return { ...person, grants };
    const all = person.grants.map((one) => verdictOf(one).subject);
    throw new NotFoundError(`${person.id} has no grant ${subject}.`, {
      hint: listed(all, "The grants are", "There are no grants."),
    });
  };

const listed = (items: readonly string[], what: string, none: string): string =>
  items.length === 0 ? none : `${what} ${items.slice(0, 20).join(", ")}.`;

/** Throws for a subject that is not one. */
export function grantOf(verdict: Verdict, subject: string, note?: string): Grant {
  if (parseSubject(subject) === undefined) {
    throw new InvalidInputError(`"${subject.slice(0, 100)}" is not what a grant can be about.`, {
      hint: "Name a tool or another action: cron_add, cron_*, send(telegram:42).",
    });
  }
  return { [verdict]: subject.trim(), note } as unknown as Grant;
}

function checked(person: unknown): PersonRecord {
  const result = personRecordSchema.safeParse(person, { error: unknownKeys });
  if (!result.success) throw new InvalidInputError(z.prettifyError(result.error).slice(0, 500));
  if (result.data.timeZone !== undefined) assertZone(result.data.timeZone);
  return result.data;
}

/** The store decides; this names the person. */
async function assertAccountsFree({ store }: PeoplePorts, { id, accounts }: PersonRecord): Promise<void> {
  for (const account of accounts) {
    const other = await store.personByAccount(account);
    if (other === undefined || other.id === id) continue;
    throw new InvalidInputError(`The account ${account} belongs to ${other.id}.`, {
      hint: `An account belongs to one person: \`rookery people unlink ${other.id} ${account}\``,
    });
  }
}
