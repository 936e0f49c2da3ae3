/** What the file tools are made with: where each agent may reach, and the disk it reaches. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Places } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";

export interface FileToolDeps {
  readonly disk: Disk;
  placesOf(agent: AgentRecord): Places | Promise<Places>;
}
