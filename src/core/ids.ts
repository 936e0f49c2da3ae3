/**
 * Identifiers. Every id is a branded string, so that one kind cannot be passed for another. Agents have a cuid2, sessions and
 * runs a uuid; ids of messages and entries contain their position.
 */
declare const brand: unique symbol;
type Brand<Name extends string> = string & { readonly [brand]: Name };

export type AgentId = Brand<"AgentId">;
export type SessionId = Brand<"SessionId">;
export type SessionKey = Brand<"SessionKey">;
export type RunId = Brand<"RunId">;
export type EntryId = Brand<"EntryId">;
export type ChangeId = Brand<"ChangeId">;
export type DeliveryId = Brand<"DeliveryId">;
export type MessageId = Brand<"MessageId">;

/** The form of a cuid2 as daycare checked it: 24 to 32 lower-case letters and digits. */
export const AGENT_ID = /^[a-z0-9]{24,32}$/;
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isAgentId = (text: string): text is AgentId => AGENT_ID.test(text);

/** The port for new ids. Seeded in the simulation, random otherwise. */
export interface Ids {
  agent(): AgentId;
  /** A uuid (version 7: it begins with the time, so indexes over it append), for sessions, runs and the like. */
  uuid(): string;
  /** Grows with every call within one process, so that the store appends instead of inserting in the middle. */
  change(): ChangeId;
}

/** A message's id: its agent and its sequence in that agent's inbox. */
export const messageId = (agentId: AgentId, seq: number): MessageId => `${agentId}/${seq}` as MessageId;

/** The parts of a message id; undefined for any other text. */
export function parseMessageId(text: string): { agentId: AgentId; seq: number } | undefined {
  const match = /^([a-z0-9]{24,32})\/([1-9][0-9]{0,15})$/.exec(text);
  if (!match) return undefined;
  return { agentId: match[1] as AgentId, seq: Number(match[2]) };
}

/**
 * An entry's id is a uuid (version 8) whose first eight digits are its position in the agent's history, so that an entry
 * can be found without an index over ids.
 */
export function entryId(position: number, uuid: string): EntryId {
  const place = position.toString(16).padStart(8, "0");
  return `${place}-${uuid.slice(9, 13)}-8${uuid.slice(15)}` as EntryId;
}

/** The position in an entry id; undefined if another program made the id (imported histories). */
export function positionOf(id: EntryId): number | undefined {
  return UUID.test(id) && id[14] === "8" ? Number.parseInt(id.slice(0, 8), 16) : undefined;
}

const SHORT_CUID = 8;
/** The time within a uuid, to the millisecond: fewer digits are the same for a minute. */
const SHORT_UUID = 13;

/** The beginning of an id, for lists: commands take it instead of the whole. A delivery keeps its number in the run. */
export function shortId(id: string): string {
  const [base = "", ordinal] = id.split(".");
  const short = UUID.test(base) ? base.slice(0, SHORT_UUID) : isAgentId(base) ? base.slice(0, SHORT_CUID) : base;
  return ordinal === undefined ? short : `${short}.${ordinal}`;
}

/** A text with the ids in it shortened. */
export const withShortIds = (text: string): string => text.replace(/[0-9a-z-]{24,36}/gu, shortId);
