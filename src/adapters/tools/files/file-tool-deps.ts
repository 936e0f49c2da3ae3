/** What the file tools need: the directories that each agent may reach, and the disk. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Places } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";

export interface FileToolDeps {
  readonly disk: Disk;
  placesOf(agent: AgentRecord): Places | Promise<Places>;
}
