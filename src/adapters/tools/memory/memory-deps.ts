/** What the tools of memory work with, and whose memory a call may read: that of the run's person (M30). */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import type { SearchIndex } from "../../../core/search/search-index.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { PeopleNow } from "../../../engine/people/directory.ts";
import { namesOfPerson, type SearchScope } from "../../search/search-scope.ts";
import type { FileMarks } from "../files/file-marks.ts";
import type { TrustedFiles } from "../files/prompt-guard.ts";

export interface MemoryDeps {
  /** Absent: the store of the program has no index. */
  readonly index: SearchIndex | undefined;
  readonly store: Pick<StoreReader, "agent" | "linesBack">;
  readonly people: () => Promise<PeopleNow>;
  /** The agent's own directory; undefined if it belongs to no one who is known. */
  readonly directoryOf: (agent: AgentRecord) => Promise<string | undefined>;
  readonly marks: FileMarks;
  /** What notes count as. Absent: what the disk has. */
  readonly guard?: TrustedFiles;
}

type Caller = Pick<ToolContext, "agent" | "behalf">;

/** The notes are the agent's person's: a run for someone else does not read them. */
export async function scopeOf(deps: MemoryDeps, { agent, behalf }: Caller): Promise<SearchScope> {
  const now = await deps.people();
  const own = agent.person;
  const person = behalf?.person ?? own;
  if (person === undefined) return { people: [], notes: [] };
  const isOwn = own !== undefined && now.personOf(own) === now.personOf(person as PersonId);
  const directory = isOwn ? await deps.directoryOf(agent) : undefined;
  return { people: namesOfPerson(now, person as PersonId), notes: directory === undefined ? [] : [directory] };
}
