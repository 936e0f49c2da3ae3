/** Whose an agent is, for the people on its runs' way. */
import type { PersonId } from "../../core/people/person.ts";
import { type Belonging, noOne } from "../people/run-behalf.ts";
import type { AgentLease } from "./agent-lease.ts";
import type { RunPorts } from "./run-ports.ts";

/** Without a read, unless an earlier version made the agent. */
export async function belongingOf(
  ports: Pick<RunPorts, "personOf">,
  { record, state }: Pick<AgentLease, "record" | "state">,
): Promise<Belonging> {
  const own = record.person ?? ((await ports.personOf?.(record)) as PersonId | undefined) ?? noOne(record);
  return { own, state };
}
