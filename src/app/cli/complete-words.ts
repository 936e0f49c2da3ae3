/**
 * The candidates for the last word of an unfinished command line: commands, actions, flags, and ids of agents, jobs, runs and
 * models. Reads the store beside an engine; what cannot be read is left out, and nothing is ever written.
 */
import { argumentKind } from "./argument-kinds.ts";
import { type Action, type Command, type CommandContext, GLOBAL_OPTIONS, type Options } from "./command.ts";
import { SHELLS } from "./completion-scripts.ts";
import { firstArgument } from "./parse-flags.ts";
import type { Registry } from "./registry.ts";

export interface Candidate {
  readonly word: string;
  readonly about?: string;
}

const MOST = 200;

/** `words`: after the program's name, the last one unfinished, maybe empty. */
export async function completeWords(
  words: readonly string[],
  registry: Registry,
  context: CommandContext,
): Promise<readonly Candidate[]> {
  const last = words.at(-1) ?? "";
  const candidates = await candidatesFor(words.slice(0, -1), last, registry, context);
  return candidates.filter(({ word }) => word.startsWith(last)).slice(0, MOST);
}

async function candidatesFor(
  before: readonly string[],
  last: string,
  registry: Registry,
  context: CommandContext,
): Promise<readonly Candidate[]> {
  const at = firstArgument(before, GLOBAL_OPTIONS);
  const name = at === undefined ? undefined : before[at];
  if (at === undefined || name === undefined) {
    if (last.startsWith("-")) return flagsOf({});
    return Object.entries(registry).map(([word, { summary }]) => ({ word, about: summary }));
  }
  const command = Object.hasOwn(registry, name) ? await registry[name]?.load() : undefined;
  if (!command) return [];
  return ofCommand(command, name, before.slice(at + 1), last, context);
}

/** Goes down through the groups that the words before the last one name. */
async function ofCommand(
  command: Command,
  name: string,
  before: readonly string[],
  last: string,
  context: CommandContext,
): Promise<readonly Candidate[]> {
  if (!("actions" in command)) return ofAction(command, name, before, last, context);
  const { actions, fallback } = command;
  const at = firstArgument(before, GLOBAL_OPTIONS);
  const word = at === undefined ? undefined : before[at];
  const named = word !== undefined && Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (named && at !== undefined) return ofCommand(named, name, before.slice(at + 1), last, context);
  if (last.startsWith("-")) {
    const action = fallback === undefined ? undefined : actions[fallback];
    return flagsOf(action && "options" in action ? (action.options ?? {}) : {});
  }
  return Object.entries(actions).map(([one, { summary }]) => ({ word: one, about: summary }));
}

async function ofAction(
  action: Action,
  name: string,
  before: readonly string[],
  last: string,
  context: CommandContext,
): Promise<readonly Candidate[]> {
  const options: Options = { ...action.options, ...GLOBAL_OPTIONS };
  if (last.startsWith("-")) return flagsOf(action.options ?? {});
  const previous = before.at(-1) ?? "";
  const flag = previous.startsWith("--") ? previous.slice(2) : undefined;
  if (flag !== undefined && options[flag]?.type === "string") return valuesOf(flag, context);
  const taken = before.filter((word, index) => {
    if (word.startsWith("-")) return false;
    const preceding = before[index - 1];
    return !(preceding?.startsWith("--") && options[preceding.slice(2)]?.type === "string");
  });
  if (name === "help") return [];
  return valuesOf(argumentKind(action.usage, taken.length), context);
}

const flagsOf = (options: Options): readonly Candidate[] =>
  Object.entries({ ...options, ...GLOBAL_OPTIONS }).map(([name, { description }]) => ({
    word: `--${name}`,
    about: description,
  }));

/** The values of an argument, or of a flag with the same name. */
async function valuesOf(kind: string | undefined, context: CommandContext): Promise<readonly Candidate[]> {
  if (kind === "shell") return SHELLS.map((word) => ({ word }));
  try {
    if (kind === "agent" || kind === "to") return await agents(context);
    if (kind === "job") return await jobs(context);
    if (kind === "run") return await runs(context);
    if (kind === "person" || kind === "for") return await people(context);
    if (kind === "model" || kind === "provider") return await models(context, kind);
    if (kind === "delivery") return await deliveries(context);
    if (kind === "skill") return await skills(context);
  } catch {
    // Nothing to read is nothing to offer.
  }
  return [];
}

const reading = async <T>(
  { paths }: CommandContext,
  read: Parameters<typeof import("./read-home.ts").readHome<T>>[1],
): Promise<T> => (await import("./read-home.ts")).readHome(paths, read);

/** By the last part of the session key where it is a word, else by id: shells split words at colons. */
async function agents(context: CommandContext): Promise<readonly Candidate[]> {
  const { labelOf } = await import("../../core/agent/label-of.ts");
  const found = await reading(context, (store) => store.agents({ limit: MOST, newest: true }));
  return found.map(({ id, sessionKey, descriptor, state }) => {
    const name = /^agent:main:(?:permanent:)?([a-z][a-z0-9-]*)$/.exec(sessionKey)?.[1];
    return { word: name ?? id, about: state.label ?? labelOf(descriptor) };
  });
}

const jobs = async (context: CommandContext): Promise<readonly Candidate[]> =>
  (await reading(context, (store) => store.jobs({ limit: MOST }))).map(({ id, name }) => ({ word: id, about: name }));

const people = async (context: CommandContext): Promise<readonly Candidate[]> =>
  (await reading(context, (store) => store.people({ limit: MOST }))).map(({ id, name }) => ({ word: id, about: name }));

const deliveries = async (context: CommandContext): Promise<readonly Candidate[]> =>
  (await reading(context, (store) => store.deliveries({ limit: MOST }))).map(({ id, state }) => ({
    word: id,
    about: state,
  }));

async function skills({ paths, loadConfig }: CommandContext): Promise<readonly Candidate[]> {
  const [{ findSkills }, { guardedFilesOf }, { homedir }] = await Promise.all([
    import("../../adapters/workspace/skills/find-skills.ts"),
    import("../../adapters/workspace/guarded-workspace-files.ts"),
    import("node:os"),
  ]);
  const { roots } = guardedFilesOf((await loadConfig()).config, paths);
  const found = roots.flatMap((workspace) => findSkills({ workspace, home: paths.home, userHome: homedir() }).skills);
  const named = new Map(found.map(({ name, description }) => [name, { word: name, about: description }]));
  return [...named.values()];
}

async function runs(context: CommandContext): Promise<readonly Candidate[]> {
  return reading(context, async (store) => {
    const latest = await store.recentForeground({ limit: 5 });
    const found = await Promise.all(latest.map(({ id }) => store.runs(id, { limit: 10 })));
    return found.flat().map(({ id, outcome }) => ({ word: id, about: outcome ?? "open" }));
  });
}

async function models({ loadConfig }: CommandContext, kind: "model" | "provider"): Promise<readonly Candidate[]> {
  const { KNOWN_PROVIDERS } = await import("../../config/known-providers.ts");
  const { providers, default: first, fallbacks } = (await loadConfig()).config.models;
  if (kind === "provider")
    return [...new Set([...Object.keys(providers), ...Object.keys(KNOWN_PROVIDERS)])].map((word) => ({ word }));
  const own = Object.entries(providers).flatMap(([name, provider]) => provider.models.map(({ id }) => `${name}/${id}`));
  return [...new Set([...(first ? [first] : []), ...fallbacks, ...own, "offline"])].map((word) => ({ word }));
}
