/** How much may be spent before a run is ended: in tokens, in dollars, in messages of people a day. Absent: no limit. */
import { amount, section, wholeNumber } from "../values.ts";

const limitSchema = section({
  tokens: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
  dollars: amount().optional(),
  /** Messages of people, always of one day. */
  messages: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
}).optional();

export const budgetsSchema = section({
  /** Of one agent, over its life. */
  agent: limitSchema,
  /** Of an agent and everything it started. */
  tree: limitSchema,
  /** Of the agents of one profile on one day. */
  profile: limitSchema,
  /** Of one person on one day. */
  person: limitSchema,
  /** Of this installation on one day. */
  day: limitSchema,
}).prefault({});
