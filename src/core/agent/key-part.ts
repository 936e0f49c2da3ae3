/**
 * The components of a session key. Ids from outside are trimmed and lower-cased, as clawdbot's are; what would read as
 * another component, or could not be stored and printed as it is, is escaped, so that two addresses never meet in one key.
 */

/** Words that stand for themselves in keys. Whatever may stand in the same place is kept apart from them by an escape. */
const RESERVED: ReadonlySet<string> = new Set([
  ...["dm", "group", "channel", "thread", "topic"],
  ...["heartbeat", "system", "subagent", "swarm", "permanent", "cron", "acp"],
]);

/** The escape itself, the separator, blanks, control characters, and halves of characters. */
const UNSAFE = /[%:\p{Cc}\p{Cs}\p{Z}]/gu;

/** `%3a` for a character below 256, `%u2028` for the others. */
function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100 ? `%${code.toString(16).padStart(2, "0")}` : `%u${code.toString(16).padStart(4, "0")}`;
}

/** A component as it stands in a key, its case kept: for ids of our own and names where case counts. */
export const exactPart = (text: string | number): string => String(text).replace(UNSAFE, escaped);

/** A component as it stands in a key, trimmed and lower-cased: for ids of channels, whose case says nothing. */
export const keyPart = (text: string | number): string => exactPart(String(text).trim().toLowerCase());

/** Sets a component apart from one that is spelled the same and means something else. No escape ends so. */
export const setApart = (part: string): string => `${part}%`;

/** Sets a component apart from the words of a key, where it would be taken for one. */
export const notReserved = (part: string): string => (RESERVED.has(part.toLowerCase()) ? setApart(part) : part);

/** Gives back what a component was made of. */
export const readPart = (part: string): string =>
  part
    .replace(/%$/, "")
    .replace(/%u([0-9a-f]{4})|%([0-9a-f]{2})/gi, (_, wide?: string, narrow?: string) =>
      String.fromCharCode(Number.parseInt(wide ?? narrow ?? "", 16)),
    );

const ID = /^[a-z0-9][a-z0-9_-]{0,63}$/i;

function normalizeId(text: string | null | undefined, otherwise: string): string {
  const trimmed = (text ?? "").trim();
  if (trimmed === "") return otherwise;
  if (ID.test(trimmed)) return trimmed.toLowerCase();
  const made = trimmed
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 64);
  return made === "" ? otherwise : made;
}

/** A profile's name as it stands in keys. */
export const normalizeAgentId = (id: string | null | undefined): string => normalizeId(id, "main");

export const DEFAULT_ACCOUNT = "default";

/** An account's name as bindings and keys compare it. */
export const normalizeAccountId = (id: string | null | undefined): string => normalizeId(id, DEFAULT_ACCOUNT);
