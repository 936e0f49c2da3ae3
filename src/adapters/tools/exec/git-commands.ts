/**
 * Git commands that only read. A repository can make them start programs: a rule that allows `git status` does not mean those. The engine's
 * own settings win over those of the repository; where it has none for a setting, the command asks.
 */
import { basename, dirname } from "node:path";
import { type GitSetting, gitSettingPower } from "../../../core/rights/git-settings.ts";
import { splitShellLine } from "../../../core/rights/shell-line.ts";
import { type FoundRepositories, isIn, type Repository } from "../files/repository-files.ts";
import type { NamedCommand } from "./command-effects.ts";

const GIT: readonly string[] = ["git", "/usr/bin/git"];
const READING: readonly string[] = [
  "status",
  "diff",
  "log",
  "show",
  "blame",
  "ls-files",
  "describe",
  "shortlog",
  "grep",
];

/** For every reading command. */
const SETTINGS: readonly GitSetting[] = [
  { key: "core.fsmonitor", value: "false" },
  { key: "core.hooksPath", value: "/dev/null" },
  { key: "core.sshCommand", value: "false" },
  { key: "core.attributesFile", value: "/dev/null" },
  { key: "gpg.program", value: "false" },
  { key: "gpg.ssh.program", value: "false" },
  { key: "gpg.x509.program", value: "false" },
  { key: "log.showSignature", value: "false" },
];
/** A submodule gets these too. */
const VARIABLES = { GIT_OPTIONAL_LOCKS: "0", GIT_PAGER: "cat", GIT_ALLOW_PROTOCOL: "none", GIT_NO_LAZY_FETCH: "1" };
const MAX_OVERRIDES = 200;

/** Options of git itself that do not change what a reading command starts. The directory after `-C` has been searched with all others. */
const PLAIN_OPTIONS = ["-C", "-P", "--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"];
const WITH_VALUE = [
  "-C",
  "-c",
  "--git-dir",
  "--work-tree",
  "--namespace",
  "--config-env",
  "--exec-path",
  "--attr-source",
];

interface ReadingGit {
  /** The option with which the command names what it starts, or takes other settings. */
  readonly option?: string;
}

/** Undefined if it is not git, or does more than reading. */
function readingGit([program = "", ...words]: readonly string[]): ReadingGit | undefined {
  if (!GIT.includes(program)) return undefined;
  let option: string | undefined;
  let at = 0;
  for (; words[at]?.startsWith("-"); at += WITH_VALUE.includes(words[at] ?? "") ? 2 : 1) {
    const word = words[at] ?? "";
    const isPlain = PLAIN_OPTIONS.includes(word) || (word === "-c" && isHarmless(words[at + 1] ?? ""));
    if (!isPlain) option ??= word;
  }
  const [command = "", ...rest] = words.slice(at);
  if (!READING.includes(command)) return undefined;
  return { option: option ?? (command === "grep" ? rest.find(opensFiles) : undefined) };
}

/** The setting in `-c name=value`. */
function isHarmless(text: string): boolean {
  const [key = "", ...value] = text.split("=");
  const isPlain = /^[A-Za-z]+\.[A-Za-z]+$/u.test(key);
  return isPlain && gitSettingPower({ key: key.toLowerCase(), value: value.join("=") }).is === "harmless";
}

/** `git grep -O` starts a program with the files that it finds. Git understands abbreviations. */
const opensFiles = (word: string): boolean => word.startsWith("--op") || /^-[A-Za-z0-9]*O/u.test(word);

function gitCalls(command: NamedCommand["command"]): readonly (ReadingGit | undefined)[] {
  const split = typeof command === "string" ? splitShellLine(command) : { parts: [command] };
  const parts = "unparsed" in split ? [] : split.parts;
  return parts.filter(([program = ""]) => basename(program) === "git").map(readingGit);
}

/** Whether a line has git commands, and all of them only read. */
export function onlyReadsWithGit(command: NamedCommand["command"]): boolean {
  const calls = gitCalls(command);
  return calls.length > 0 && !calls.includes(undefined);
}

/** Whether a line has a git command that only reads. */
export const readsWithGit = (command: NamedCommand["command"]): boolean =>
  gitCalls(command).some((call) => call !== undefined);

/**
 * Why a git command that only reads could start a program in spite of the engine's settings; undefined for every other command.
 * `overrides`: whether it gets those settings.
 */
export function whyGitStarts(
  argv: readonly string[],
  found: FoundRepositories,
  overrides: boolean,
): string | undefined {
  const reading = readingGit(argv);
  if (!reading) return undefined;
  if (reading.option !== undefined) return `git ${reading.option} can start a program`;
  if (found.unsearched.length > 0) return "the workspace has more directories than were searched for repositories";
  if (overridesIn(found).length > MAX_OVERRIDES) return "the settings of repositories name too many programs";
  for (const repository of found.repositories) {
    const why = whyStarts(repository, !overrides || isReachedByOthers(repository, found));
    if (why !== undefined) return `${why} of ${repository.directory} can make git start a program`;
  }
  return undefined;
}

function whyStarts({ settings, hooks }: Repository, isReached: boolean): string | undefined {
  if (!settings) return "the settings";
  if (isReached && hooks) return "a hook";
  const setting = settings.find((one) => {
    const { is } = gitSettingPower(one);
    return is === "starts" || (is === "overridden" && isReached);
  });
  return setting && `the setting ${setting.key}`;
}

/** Git in a repository starts another git in a submodule, which gets none of the engine's settings. */
const isReachedByOthers = ({ directory }: Repository, { repositories, links }: FoundRepositories): boolean =>
  links.length > 0 ||
  repositories.some((other) => {
    const hasTree = other.settings?.some(({ key }) => key === "core.worktree") ?? true;
    return other.directory !== directory && (hasTree || isIn(dirname(other.directory), directory));
  });

const overridesIn = ({ repositories }: FoundRepositories): readonly GitSetting[] => {
  const found = new Map<string, GitSetting>();
  for (const { settings = [] } of repositories)
    for (const setting of settings) {
      const power = gitSettingPower(setting);
      if (power.is === "overridden") for (const one of power.by) found.set(one.key, one);
    }
  return [...found.values()];
};

/** Variables for a line in which every git command only reads. */
export function gitEnvironment(found: FoundRepositories): Readonly<Record<string, string>> {
  const settings = [...SETTINGS, ...overridesIn(found).slice(0, MAX_OVERRIDES)];
  const pairs = settings.flatMap(({ key, value }, index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { ...VARIABLES, ...Object.fromEntries(pairs), GIT_CONFIG_COUNT: String(settings.length) };
}
