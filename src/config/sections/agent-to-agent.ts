/** Who may write to whom and read of whom, and how messages between agents are bounded. */
import { list, oneOf, section, wholeNumber } from "../values.ts";

/**
 * How one agent can stand to another. `tree`: both come from the same root. `parent`: it started this one. `permanent`,
 * `system`: it is of that kind. `foreground`: a person wrote to it last. `any`: however it stands.
 */
export const RELATIONS = ["tree", "parent", "permanent", "system", "foreground", "any"] as const;
export type Relation = (typeof RELATIONS)[number];

export const agentToAgentDefaults = {
  maxCharacters: 8_000,
  maxHops: 32,
  timeoutSeconds: 30,
} as const;

const DEFAULT_WRITE: readonly Relation[] = ["tree", "parent", "permanent", "system", "foreground"];
const DEFAULT_READ: readonly Relation[] = ["tree"];

const relations = (otherwise: readonly Relation[]) => list(oneOf(RELATIONS)).default(otherwise);

export const agentToAgentSchema = section({
  write: relations(DEFAULT_WRITE),
  read: relations(DEFAULT_READ),
  maxCharacters: wholeNumber(100, 1_000_000).default(agentToAgentDefaults.maxCharacters),
  maxHops: wholeNumber(1, 10_000).default(agentToAgentDefaults.maxHops),
  timeoutSeconds: wholeNumber(0, 86_400).default(agentToAgentDefaults.timeoutSeconds),
}).prefault({});
