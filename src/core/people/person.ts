/**
 * A person: things happen for people. Messages, runs, jobs, children, files and approvals name the people on their way by
 * these ids, and the rights of these people decide (L13, M30).
 *
 * `owner`: the person the installation belongs to. `ann`: a person with a record. `telegram:42`, `api:ann`: an account on a
 * channel that belongs to no record. `telegram:group:-100`: all members of a group together. `app:shop/ann`: a user that an
 * application vouches for, inside the application's own names.
 */
import { sameForm } from "../same-id.ts";

declare const brand: unique symbol;
export type PersonId = string & { readonly [brand]: "PersonId" };

export const OWNER = "owner" as PersonId;

/** The form of an id that a person chooses for another: short, without case and without the signs of the other forms. */
export const RECORD_ID = /^[a-z0-9][a-z0-9._-]{0,63}$/;

type PersonKind = "owner" | "record" | "app" | "group" | "account";

const GROUPS = ["group:", "channel:"];

/** Which form an id has; undefined if it has none of them. */
export function kindOfPerson(id: string): PersonKind | undefined {
  if (id === OWNER) return "owner";
  if (RECORD_ID.test(id)) return "record";
  const colon = id.indexOf(":");
  if (colon < 1 || colon === id.length - 1) return undefined;
  const rest = id.slice(colon + 1);
  if (id.startsWith("app:")) return /^[^/]+\/[\s\S]/u.test(rest) ? "app" : undefined;
  return GROUPS.some((word) => rest.startsWith(word) && rest !== word) ? "group" : "account";
}

/** Whether a name can be the id of a record. `owner` is taken. */
export const isRecordId = (name: string): boolean => name !== OWNER && RECORD_ID.test(name);

/** Keeps an id apart from the ids of groups: a channel lets people choose their names. */
const DIRECT = "dm:";

/** An account on a channel. */
export function accountOf(channel: string, id: string): PersonId {
  const same = sameForm(id);
  return `${channel}:${[...GROUPS, DIRECT].some((word) => same.startsWith(word)) ? DIRECT : ""}${same}` as PersonId;
}

/** All members of a group. */
export const groupOf = (channel: string, kind: "group" | "channel", id: string): PersonId =>
  `${channel}:${kind}:${sameForm(id)}` as PersonId;

// A slash in the first part would let one name be read as another's.
const part = (text: string): string => sameForm(text).replaceAll("%", "%25").replaceAll("/", "%2F");

/** A user of an application. Two applications with a user of the same name mean two people. */
export const appUser = (application: string, user: string): PersonId =>
  `app:${part(application)}/${sameForm(user)}` as PersonId;

/** The application in the id of one of its users. */
export function applicationOf(id: PersonId): string | undefined {
  if (!id.startsWith("app:")) return undefined;
  return id.slice("app:".length, id.indexOf("/")).replaceAll("%2F", "/").replaceAll("%25", "%");
}

export const ROLES = ["owner", "guest", "contact", "stranger"] as const;
/** `guest`: a person the owner let in. `contact`: writes to a swarm only. `stranger`: no one let them in; no rights. */
export type Role = (typeof ROLES)[number];
