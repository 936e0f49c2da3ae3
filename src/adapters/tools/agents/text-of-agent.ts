/** Whether text of one agent is untrusted for another: it belongs to another person, or has the mark itself (M32). */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Untrusted } from "../../../core/history/entry.ts";
import { isUntrusted } from "../../../core/people/behalf.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import { isMarked } from "../../../engine/people/untrusted.ts";

type Reader = Pick<ToolContext, "agent" | "behalf">;
type Agent = Pick<AgentRecord, "id" | "person" | "state">;

const personOf = ({ behalf, agent }: Reader): string | undefined => behalf?.person ?? agent.person;

/** The mark of a result that shows what another agent said. */
export const textOfAgent = (reader: Reader, other: Agent | undefined): Untrusted | undefined =>
  other && (isMarked(other.state) || other.person !== personOf(reader)) ? { from: `agent:${other.id}` } : undefined;

/** Whether what this agent writes is untrusted for the recipient. A new agent belongs to the writer's person. */
export const isUntrustedFor = (writer: Reader, to: Pick<AgentRecord, "person"> | undefined): boolean =>
  isMarked(writer.agent.state) ||
  (writer.behalf !== undefined && isUntrusted(writer.behalf)) ||
  (to !== undefined && to.person !== personOf(writer));
