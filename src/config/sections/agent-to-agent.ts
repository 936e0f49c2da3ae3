/** Which agents may write to and read which others. */
import { list, oneOf, section } from "../values.ts";

/**
 * The relation of one agent to another. `tree`: both have the same root. `parent`: it started this one. `permanent`, `system`:
 * its kind, and the heartbeat is one of `system`. `foreground`: a person wrote to it last. `any`: every relation.
 */
const RELATIONS = ["tree", "parent", "permanent", "system", "foreground", "any"] as const;
export type Relation = (typeof RELATIONS)[number];

const DEFAULT_WRITE: readonly Relation[] = ["tree", "parent", "permanent", "system", "foreground"];
const DEFAULT_READ: readonly Relation[] = ["tree"];

const relations = (otherwise: readonly Relation[]) => list(oneOf(RELATIONS)).default(otherwise);

export const agentToAgentSchema = section({
  write: relations(DEFAULT_WRITE).describe("the relations of agents that an agent may write to"),
  read: relations(DEFAULT_READ).describe(
    "the agents whose sessions it may list and read, with the same values; the owner's agents read all",
  ),
})
  .prefault({})
  .meta({ description: "which agents may write to and read which others", page: "agents-together.md" });
