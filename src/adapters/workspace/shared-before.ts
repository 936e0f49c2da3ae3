/**
 * Earlier versions had one workspace for everyone. The first start with separate directories writes down which other people's
 * agents could use the owner's workspace, and which files it holds. Nothing is moved. Every start warns until the owner deletes
 * that list.
 */
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import { FILE_MODE, type HomePaths, sharedBeforeFile } from "../../config/paths.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import type { AgentId } from "../../core/ids.ts";
import { OWNER } from "../../core/people/person.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { makeDirectory } from "../system/make-directory.ts";
import { type PersonOf, profileWorkspaces } from "./workspaces.ts";

const PAGE = 500;
const MAX_PEOPLE = 1_000;
const MAX_FILES = 5_000;

interface SharedBefore {
  readonly people: readonly string[];
  /** Relative to the home where they are inside it. */
  readonly files: readonly string[];
}

/** Called at the start. Returns the warning, if there is something to check. */
export async function warningOfShared(
  { config, paths, personOf }: { config: Pick<Config, "profiles">; paths: HomePaths; personOf: PersonOf },
  store: Pick<StoreReader, "agentsOfKind">,
): Promise<string | undefined> {
  const list = sharedBeforeFile(paths);
  if (!existsSync(paths.people)) {
    const { people, files } = await sharedBefore(config, paths, personOf, store);
    // The list is complete before the directory that says that it was made.
    if (people.length > 0 && files.length > 0) writeList(list, { people, files });
    makeDirectory(paths.people);
  }
  if (!existsSync(list)) return undefined;
  return `Other people's agents used the owner's workspace with an earlier version. Each person has an own directory now; nothing was moved. ${list} lists the people and the files. Check it, move what belongs to others, and delete it.`;
}

async function sharedBefore(
  config: Pick<Config, "profiles">,
  paths: HomePaths,
  personOf: PersonOf,
  store: Pick<StoreReader, "agentsOfKind">,
): Promise<SharedBefore> {
  const people = new Set<string>();
  let after: AgentId | undefined;
  do {
    const agents = await store.agentsOfKind("user", { limit: PAGE, after });
    for (const agent of agents) people.add((await personOf(agent)) ?? OWNER);
    after = agents.length === PAGE ? agents.at(-1)?.id : undefined;
  } while (after !== undefined && people.size <= MAX_PEOPLE);
  people.delete(OWNER);
  if (people.size === 0) return { people: [], files: [] };
  const names = [...new Set([DEFAULT_PROFILE, ...Object.keys(config.profiles)])];
  const workspaces = new Set(names.map(profileWorkspaces(config, paths)));
  const files: string[] = [];
  for (const workspace of workspaces) await collect(workspace, paths.home, files);
  return { people: [...people].sort(), files: [...new Set(files)].sort() };
}

/** Adds the files below a directory, never through a link. */
async function collect(directory: string, home: string, files: string[]): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (files.length >= MAX_FILES) return;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await collect(path, home, files);
    else files.push(path.startsWith(`${home}${sep}`) ? relative(home, path) : path);
  }
}

function writeList(path: string, { people, files }: SharedBefore): void {
  const text = [
    "Before this version, all agents shared the owner's workspace. These people's agents could read and write its files:",
    "",
    ...people.map(inOneLine),
    "",
    "It holds these files. Any of them may be written by these people's agents, and any of them may be read by them until now.",
    "Check the prompt and task files first: AGENTS.md, HEARTBEAT.md, cron/, heartbeat/, memory/. Then delete this list.",
    "",
    ...files.map(inOneLine),
    "",
  ];
  const temporary = `${path}.tmp`;
  writeFileSync(temporary, text.join("\n"), { mode: FILE_MODE });
  renameSync(temporary, path);
}

/** People choose their names, and agents the names of files. */
const inOneLine = (name: string): string => `- ${JSON.stringify(name)}`;
