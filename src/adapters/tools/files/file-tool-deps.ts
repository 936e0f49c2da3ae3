/** What the file tools need: the directories that each agent may reach, and the disk. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { kindOfPerson, type PersonId } from "../../../core/people/person.ts";
import type { EffectContext } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import type { Places } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";
import type { FileMarks } from "./file-marks.ts";

export interface FileToolDeps {
  readonly disk: Disk;
  readonly marks: FileMarks;
  placesOf(agent: AgentRecord): Places | Promise<Places>;
  /** Whose files an agent works with. Absent: no one else's. */
  personOf?(agent: AgentRecord): Promise<string | undefined>;
}

/** The files belong to the agent's person. Everyone else on a run's way needs a grant for them (L13). */
export const effectsOnFiles =
  ({ personOf }: FileToolDeps, action: string, rights: Effect["rights"]) =>
  async (_: unknown, { agent }: EffectContext): Promise<readonly Effect[]> => {
    const of = (await personOf?.(agent)) as PersonId | undefined;
    // The files of a group belong to everyone in it.
    return of === undefined || kindOfPerson(of) === "group" ? [] : [{ action, rights, target: `files:${of}`, of }];
  };
