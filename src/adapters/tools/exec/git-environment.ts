/**
 * Settings for git commands that only read. They win over those of the repository, so a rule that allows `git status` starts no monitor,
 * no hook, no signature program and no connection that a file of the repository names.
 */
import { splitShellLine } from "../../../core/rights/shell-line.ts";
import type { NamedCommand } from "./command-effects.ts";

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

const SETTINGS: readonly (readonly [name: string, value: string])[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.sshCommand", "false"],
  ["core.pager", "cat"],
  ["core.attributesFile", "/dev/null"],
  ["gpg.program", "false"],
  ["gpg.ssh.program", "false"],
  ["gpg.x509.program", "false"],
  ["log.showSignature", "false"],
];

/** Variables for a line in which every git command only reads; none for any other line. */
export function gitEnvironment(command: NamedCommand["command"]): Readonly<Record<string, string>> {
  const split = typeof command === "string" ? splitShellLine(command) : { parts: [command] };
  const calls =
    "unparsed" in split ? [] : split.parts.filter(([program = ""]) => /^(?:\/usr\/bin\/)?git$/.test(program));
  const isReading = calls.length > 0 && calls.every((words) => READING.includes(subcommand(words)));
  if (!isReading) return {};
  const pairs = SETTINGS.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { ...Object.fromEntries(pairs), GIT_CONFIG_COUNT: String(SETTINGS.length), GIT_OPTIONAL_LOCKS: "0" };
}

/** Finds the first word that is not an option. Only `-C` has a value in a word of its own. */
function subcommand([, ...words]: readonly string[]): string {
  const at = words.findIndex((word, index) => !word.startsWith("-") && words[index - 1] !== "-C");
  return words[at] ?? "";
}
