/**
 * The name of a person's directory. Different people have different names, also on file systems that ignore case or normalise
 * names: the result has only lower-case ASCII letters, digits, dashes and one `~`. It is never `.` or `..` and has no slash.
 */
import { createHash } from "node:crypto";

const MAX_READABLE = 48;
/** 160 bits: people choose their account names, and must not find two with the same directory. */
const DIGEST_LENGTH = 40;
/** Names of records that are usable as they are. */
const PLAIN = /^[a-z0-9][a-z0-9-]{0,47}$/;
/** Names that some systems keep for devices. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$/;

export function personDirectory(person: string): string {
  if (PLAIN.test(person) && !DEVICE.test(person)) return person;
  const readable = person
    .slice(0, MAX_READABLE)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  // UTF-16: half characters would all be equal in UTF-8.
  const digest = createHash("sha256").update(Buffer.from(person, "utf16le")).digest("hex").slice(0, DIGEST_LENGTH);
  return `${readable}~${digest}`;
}
