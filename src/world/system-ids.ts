/** Fresh ids from the platform's randomness. */
import { randomBytes } from "node:crypto";
import { init } from "@paralleldrive/cuid2";
import type { AgentId, ChangeId, Ids } from "../core/ids.ts";

export function systemIds(): Ids {
  const cuid = init({ length: 24 });
  const node = randomBytes(5).toString("hex");
  const start = Date.now().toString(36).padStart(9, "0");
  let changes = 0;
  return {
    agent: () => cuid() as AgentId,
    uuid: uuidV7,
    change: () => `${start}-${node}-${(changes++).toString(36).padStart(7, "0")}` as ChangeId,
  };
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
  const bytes = randomBytes(8);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x80;
  const time = lastMs.toString(16).padStart(12, "0");
  const rest = bytes.toString("hex");
  const counter = within.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${rest.slice(0, 4)}-${rest.slice(4)}`;
}
