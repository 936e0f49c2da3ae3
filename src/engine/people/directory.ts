/**
 * Who is who now: the people's records, by id and by account, as of one revision of rights. An id stands for the person it
 * belongs to at this moment, so a right that was taken away is gone for everything that was accepted before (M30).
 */
import { linkedName } from "../../core/agent/identity-links.ts";
import type { PeopleSettings } from "../../core/agent/person.ts";
import { isOwner } from "../../core/agent/session-key.ts";
import type { Current } from "../../core/current.ts";
import { API_CHANNEL } from "../../core/delivery/route.ts";
import { personOfApiUser } from "../../core/people/api-user.ts";
import { CROWD } from "../../core/people/crowd.ts";
import { accountOf, kindOfPerson, OWNER, type PersonId, type Role } from "../../core/people/person.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Standing } from "../../core/rights/decide.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { allPeople } from "./all-people.ts";

export type DirectoryReader = Pick<StoreReader, "people" | "rightsRevision">;

/** Tells people apart by the settings in force. */
export type Identity = Current<{ readonly identity: PeopleSettings }>;
export const NO_IDENTITY: Identity = { current: { identity: {} } };

/** The people of one revision. */
export interface PeopleNow {
  readonly revision: number;
  /** The rights that this id has now. Someone who is gone, or was never let in, is a stranger. */
  standing(id: PersonId): Standing;
  /** Whose account it is: the owner, a record's id, the name of a link (`link:ann`). The id itself if it is no one's. */
  personOf(account: PersonId): PersonId;
  /** The person who writes with this id on this channel. */
  sender(connector: string, userId: string): PersonId;
  record(id: PersonId): PersonRecord | undefined;
}

export interface Directory {
  /** As the store has it now: one read of the revision if nothing changed. */
  now(): Promise<PeopleNow>;
  /**
   * Possibly some seconds old, mostly without a read. Enough to say who writes: an id is resolved again by `standing` and
   * `personOf` whenever rights are decided.
   */
  recent(): Promise<PeopleNow>;
  /** Something about people was changed by this process: the next `recent` looks again, and tells everyone who listens. */
  forget(): void;
  /**
   * Called with the records of every new revision that this process reads, and after `forget`, before anyone sees them. If it rejects, the revision counts
   * as unread and is read again. Returns how to stop.
   */
  onChanged(listener: (people: readonly PersonRecord[]) => void | Promise<void>): () => void;
}

/** After this time the revision is read again. */
const RECENT_MS = 10_000;

interface Records {
  readonly revision: number;
  readonly byId: ReadonlyMap<string, PersonRecord>;
  readonly byAccount: ReadonlyMap<string, PersonRecord>;
}

export function directoryOf(
  { store, clock }: { readonly store: DirectoryReader; readonly clock: Pick<Clock, "now"> },
  settings: Identity = NO_IDENTITY,
): Directory {
  let cached: Records | undefined;
  let checkedAt = 0;
  /** Counts `forget`: a read that began before it is not recent. */
  let changes = 0;
  /** The count of `changes` that listeners have received. */
  let told = 0;
  let loading: Promise<Records> | undefined;
  const listeners = new Set<(people: readonly PersonRecord[]) => void | Promise<void>>();
  const load = async (): Promise<Records> => {
    const at = clock.now();
    const known = changes;
    const revision = await store.rightsRevision();
    const isTold = told === changes;
    // A slower read must not replace what a later one found.
    if (!cached || cached.revision < revision || !isTold) {
      const read = await readRecords(store, revision);
      // Before it is cached: a message that is addressed by this revision finds the links of this revision.
      await Promise.all([...listeners].map((listener) => listener([...read.byId.values()])));
      told = Math.max(told, known);
      if (!cached || cached.revision <= read.revision) cached = read;
    } else if (cached.revision > revision) cached = await readRecords(store, revision);
    if (known === changes) checkedAt = at;
    return cached;
  };
  return {
    now: async () => viewOf(await load(), settings.current.identity),
    onChanged(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    forget() {
      changes++;
      checkedAt = Number.NEGATIVE_INFINITY;
      loading = undefined;
    },
    async recent() {
      const { identity } = settings.current;
      if (cached && clock.now() - checkedAt < RECENT_MS && clock.now() >= checkedAt) return viewOf(cached, identity);
      loading ??= load().finally(() => {
        loading = undefined;
      });
      // An older view says well enough who writes; a store that does not answer refuses the message itself.
      return viewOf(await loading.catch((error) => cached ?? Promise.reject(error)), settings.current.identity);
    },
  };
}

/** All records of one revision: a change in between begins again. */
async function readRecords(store: DirectoryReader, known: number): Promise<Records> {
  for (let revision = known; ; ) {
    const people = await allPeople(store);
    const after = await store.rightsRevision();
    if (after === revision) {
      return {
        revision,
        byId: new Map(people.map((person) => [person.id, person])),
        byAccount: new Map(people.flatMap((person) => person.accounts.map((account) => [folded(account), person]))),
      };
    }
    revision = after;
  }
}

/** An account in one form: ids of channels have no case, as in session keys; those of the API and of applications do. */
function folded(account: string): string {
  const at = account.indexOf(":");
  const channel = account.slice(0, at).trim().toLowerCase();
  const id = account.slice(at + 1).trim();
  return `${channel}:${channel === API_CHANNEL || channel === "app" ? id : id.toLowerCase()}`;
}

function viewOf({ revision, byId, byAccount }: Records, identity: PeopleSettings): PeopleNow {
  const { unknown = "stranger", identityLinks, ownerAccounts } = identity;
  const recordOf = (id: string): PersonRecord | undefined => byAccount.get(folded(id)) ?? linkedRecord(id);
  const linkedRecord = (id: string): PersonRecord | undefined => {
    if (!id.startsWith(LINK)) return undefined;
    const ids = identityLinks?.[id.slice(LINK.length)] ?? [];
    return ids.map((one) => byAccount.get(folded(one))).find((one) => one !== undefined);
  };
  const personOf = (id: PersonId): PersonId => {
    const kind = kindOfPerson(id);
    if (kind === "owner" || kind === "record") return id;
    if (kind === "account" && !id.startsWith(LINK)) {
      const at = id.indexOf(":");
      return sender(id.slice(0, at), directId(id.slice(at + 1)));
    }
    return (recordOf(id)?.id as PersonId | undefined) ?? id;
  };
  const sender = (connector: string, userId: string): PersonId => {
    if (isOwner({ connector, userId }, ownerAccounts)) return OWNER;
    const name = nameOf(connector, userId);
    if (kindOfPerson(name) === "record") return name;
    const account = folded(name) as PersonId;
    const record = byAccount.get(account);
    if (record) return record.id as PersonId;
    const linked = linkedName(identityLinks, connector, userId);
    if (linked === undefined) return account;
    const link = `${LINK}${linked}` as PersonId;
    return (recordOf(link)?.id as PersonId | undefined) ?? link;
  };
  return {
    revision,
    personOf,
    sender,
    record: (id) => byId.get(id),
    standing(id) {
      const person = personOf(id);
      const record = byId.get(person);
      if (person === CROWD) return { person, role: "stranger", grants: [] };
      if (person === OWNER) return { person, role: "owner", grants: record?.grants ?? [] };
      if (record) return { person, role: record.role, grants: record.grants };
      return { person, role: roleWithoutRecord(person, unknown), grants: [] };
    },
  };
}

/** The API's channel has names for applications' users and for people with tokens. */
const nameOf = (connector: string, userId: string): PersonId =>
  connector.trim().toLowerCase() === API_CHANNEL ? personOfApiUser(userId) : accountOf(connector, userId);

/** The id at the channel, without the mark that keeps it apart from the ids of groups. */
const directId = (id: string): string => (id.startsWith("dm:") ? id.slice("dm:".length) : id);

/** The people of `session.identityLinks`. */
const LINK = "link:";

/** An application vouches for its users. A record that is gone leaves no rights behind. */
function roleWithoutRecord(id: PersonId, unknown: Role): Role {
  switch (kindOfPerson(id)) {
    case "app":
      return "guest";
    case "account":
      // The API is used with a token, and its holder vouches for the users it names.
      return id.startsWith(`${API_CHANNEL}:`) ? "guest" : unknown;
    case "group":
      return unknown;
    default:
      return "stranger";
  }
}
