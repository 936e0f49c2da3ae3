/**
 * Files that git obeys: a line in `.git/config` makes `git status` run any program, including on the host when the owner types it. A tool
 * changes them only after a person has seen the change, unless a rule names them.
 */
import { parseSubject } from "../people/grant.ts";
import type { EffectDetail } from "./effect-detail.ts";
import { plainName } from "./prompt-files.ts";
import { namesOf } from "./rule.ts";

type PathDetail = Extract<EffectDetail, { kind: "path" }>;

/** `git~1` is the short name of `.git` on some file systems. */
const isGitName = (name: string): boolean => name === ".git" || name === "git~1";

/** Every directory that git accepts as a repository has a file HEAD, so none comes into being without a question. */
export function isGitFile({ path, repository = false }: PathDetail): boolean {
  const names = namesOf(path).map(plainName);
  return repository || names.some(isGitName) || names.at(-1) === "head";
}

/** Whether a rule names git's files. A rule for all files does not. */
export function namesGitFile(rule: string, { path }: PathDetail): boolean {
  const { target = "" } = parseSubject(rule) ?? {};
  const file = plainName(namesOf(path).at(-1) ?? "");
  return namesOf(target)
    .map(plainName)
    .some((name) => name.endsWith(".git") || name === file);
}
