/** Makes ids from the random numbers of the system. */
import { randomBytes } from "node:crypto";
import { init } from "@paralleldrive/cuid2";
import type { AgentId, ChangeId, Ids } from "../../core/ids.ts";

export function systemIds(): Ids {
  // As random as the fingerprint of the library, without the cost of inspecting this process.
  const cuid = init({ length: 24, fingerprint: randomBytes(16).toString("hex") });
  const node = randomBytes(5).toString("hex");
  const start = Date.now().toString(36).padStart(9, "0");
  let changes = 0;
  return {
    agent: () => cuid() as AgentId,
    uuid: uuidV7,
    change: () => `${start}-${node}-${(changes++).toString(36).padStart(7, "0")}` as ChangeId,
  };
}

/** Random bytes are fetched for many ids at once: a call to the system costs more than the rest of an id. */
const POOL_BYTES = 8_192;
let pool = "";
let used = 0;

/** Sixteen hex digits. The first marks the variant of a uuid. */
function randomHex(): string {
  if (used + 16 > pool.length) {
    pool = randomBytes(POOL_BYTES).toString("hex");
    used = 0;
  }
  const digits = pool.slice(used, used + 16);
  used += 16;
  return `${"89ab"[Number.parseInt(digits[0] ?? "0", 16) & 3]}${digits.slice(1)}`;
}

let lastMs = 0;
let within = 0;

/** A uuid of version 7: 48 bits of time, a counter within the millisecond, then randomness. */
function uuidV7(): string {
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    within = 0;
  } else {
    within = (within + 1) & 0xfff;
    if (within === 0) lastMs += 1;
  }
  const time = lastMs.toString(16).padStart(12, "0");
  const rest = randomHex();
  const counter = within.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${rest.slice(0, 4)}-${rest.slice(4)}`;
}
