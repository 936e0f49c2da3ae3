/**
 * Brings the records of people in the store in step with the configuration, at the start and at each reload. A record that a
 * person made wins over the configuration: nothing the owner granted or took away in the running system is undone by a file.
 */
import type { ConfiguredPerson } from "../../config/sections/people.ts";
import { ConflictError } from "../../core/errors.ts";
import { type PersonRecord, personRecordSchema } from "../../core/people/person-record.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import { allPeople } from "./all-people.ts";

/** As `createdBy` of a record from the configuration. */
export const FROM_CONFIG = "config";

const TRIES = 5;

type SyncPorts = Pick<Ports, "store" | "ids" | "clock" | "log">;

export async function syncConfiguredPeople(
  ports: SyncPorts,
  configured: Readonly<Record<string, ConfiguredPerson>>,
): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const revision = await ports.store.rightsRevision();
    const { ops, refused } = planSync(await allPeople(ports.store), configured, ports.clock.now());
    const guarded = ops.map((op, index) => (index === 0 ? { ...op, expect: revision } : op));
    const result = ops.length === 0 || (await submit(ports, "people.config", guarded));
    if (result !== true && !result.ok) continue;
    for (const text of refused) ports.log.warn(text);
    return;
  }
  throw new ConflictError("The people of the configuration were not stored: their records kept changing.", {
    hint: "Start again.",
  });
}

type PersonOp = Extract<Op, { op: "person.put" | "person.remove" }>;

interface SyncPlan {
  readonly ops: readonly PersonOp[];
  /** Why a record of the configuration is not used. */
  readonly refused: readonly string[];
}

function planSync(
  stored: readonly PersonRecord[],
  configured: Readonly<Record<string, ConfiguredPerson>>,
  now: number,
): SyncPlan {
  const made = new Map(stored.filter(({ createdBy }) => createdBy !== FROM_CONFIG).map((one) => [one.id, one]));
  const taken = new Map([...made.values()].flatMap(({ id, accounts }) => accounts.map((account) => [account, id])));
  const before = new Map(stored.filter(({ id }) => !made.has(id)).map((one) => [one.id, one]));
  const wanted = new Map<string, PersonRecord>();
  const refused: string[] = [];
  for (const [id, person] of Object.entries(configured)) {
    const account = person.accounts.find((one) => taken.has(one));
    if (made.has(id)) {
      refused.push(`people.records.${id} is not used: there is a record ${id} that was not made by the configuration`);
    } else if (account !== undefined) {
      refused.push(`people.records.${id} is not used: ${account} belongs to ${taken.get(account)}`);
    } else {
      const createdAt = before.get(id)?.createdAt ?? now;
      wanted.set(id, personRecordSchema.parse({ ...person, id, createdAt, createdBy: FROM_CONFIG }));
    }
  }
  const removed = [...before.keys()].filter((id) => !wanted.has(id));
  const changed = [...wanted.values()].filter((one) => !sameRecord(one, before.get(one.id)));
  const put = (person: PersonRecord): PersonOp => ({ op: "person.put", person });
  // An account moves from one person to another: the first one gives it up before the second one gets it.
  const giving = changed.flatMap((one) => {
    const old = before.get(one.id);
    const kept = old?.accounts.filter((account) => one.accounts.includes(account));
    return old && kept && kept.length < old.accounts.length ? [put({ ...old, accounts: kept })] : [];
  });
  const ops = [...removed.map((id): PersonOp => ({ op: "person.remove", id })), ...giving, ...changed.map(put)];
  return { ops, refused };
}

const sameRecord = (a: PersonRecord, b: PersonRecord | undefined): boolean =>
  b !== undefined && JSON.stringify(personRecordSchema.parse(a)) === JSON.stringify(personRecordSchema.parse(b));
