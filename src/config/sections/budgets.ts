/** How much may be spent before a run is ended: in tokens, in dollars, or both. Absent: no limit. */
import { amount, section, wholeNumber } from "../values.ts";

const limitSchema = section({
  tokens: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
  dollars: amount().optional(),
}).optional();

export const budgetsSchema = section({
  /** Of one agent, over its life. */
  agent: limitSchema,
  /** Of an agent and everything it started. */
  tree: limitSchema,
  /** Of one person on one day. */
  person: limitSchema,
  /** Of this installation on one day. */
  day: limitSchema,
}).prefault({});
