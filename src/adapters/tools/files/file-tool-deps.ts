/** What the file tools need: the directories that each agent may reach, and the disk. */
import { resolve } from "node:path";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { kindOfPerson, type PersonId } from "../../../core/people/person.ts";
import type { EffectContext } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import type { EffectDetail } from "../../../core/rights/effect-detail.ts";
import { allowedPath, type Places, pathText } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";
import type { KeepsChanges } from "./file-changes.ts";
import type { FileMarks } from "./file-marks.ts";
import { isInRepository } from "./repository-files.ts";
import type { StoredFiles } from "./stored-files.ts";

export interface FileToolDeps {
  readonly disk: Disk;
  readonly marks: FileMarks;
  /** Keeps changes of prompt files and notes. */
  readonly changes: KeepsChanges;
  placesOf(agent: AgentRecord): Places | Promise<Places>;
  /** Files that came with messages. Absent: there are none. */
  readonly stored?: StoredFiles;
  /** Whose files an agent works with. Absent: no one else's. */
  personOf?(agent: AgentRecord): Promise<string | undefined>;
}

/** A path that a call names, and what for. */
type NamedPath = Extract<EffectDetail, { kind: "path" }>;

/**
 * The files belong to the agent's person. Everyone else on a run's way needs a grant for them (L13). Each path that the call names
 * is an effect, so that rules can tell files apart.
 */
export const effectsOnFiles =
  <Input>(
    deps: FileToolDeps,
    action: string,
    rights: Effect["rights"],
    named: (input: Input) => readonly Pick<NamedPath, "access" | "path">[],
  ) =>
  async (input: Input, { agent }: EffectContext): Promise<readonly Effect[]> => {
    const person = (await deps.personOf?.(agent)) as PersonId | undefined;
    // The files of a group belong to everyone in it.
    const of = person !== undefined && kindOfPerson(person) === "group" ? undefined : person;
    const target = of === undefined ? undefined : `files:${of}`;
    const details = await Promise.all(named(input).map((one) => pathDetail(deps, agent, one)));
    return details.map((detail) => ({ action, rights, target, of, detail }));
  };

/** The path with every link resolved. One that is not allowed is named as it is written: the call itself is refused. */
export async function pathDetail(
  { disk, placesOf }: Pick<FileToolDeps, "disk" | "placesOf">,
  agent: AgentRecord,
  { access, path }: Pick<NamedPath, "access" | "path">,
): Promise<NamedPath> {
  try {
    const places = await placesOf(agent);
    const real = await allowedPath(disk, places, path, access).then(pathText, () => resolve(places.workingDir, path));
    const repository = access === "write" && isInRepository(real);
    return { kind: "path", access, path: real, repository: repository || undefined };
  } catch {
    return { kind: "path", access, path: resolve("/", path) };
  }
}
