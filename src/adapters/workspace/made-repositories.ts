/** The files that make git run programs and that a command or a server has made or changed in its directories while it runs. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { findRepositories, hasOnlySamples, isRepositoryFile } from "../tools/files/repository-files.ts";
import { filesBelow, type LeaseEntry, realOf, stateAt, statsAt, type WriterLease } from "./writer-lease.ts";

/** Files that are compared before the process does its other work. */
const PORTION = 50;

/** Those of these files that exist and are not in its lease. */
export async function madeBy(
  { entries }: Pick<WriterLease, "entries">,
  files: readonly string[],
): Promise<readonly string[]> {
  const known = new Set(entries.flatMap(({ path, real }) => [path, real]));
  const made: string[] = [];
  for (const [index, path] of files.entries()) {
    if (index % PORTION === 0) await nextTurn();
    const now = known.has(path) || known.has(realOf(path)) ? undefined : statsAt(path);
    if (now && !(now.isDirectory() && (await hasOnlySamples(path)))) made.push(path);
  }
  return made;
}

/** The files with which the repositories below these directories make git run programs, without examples. */
export async function repositoryStates(roots: readonly string[]): Promise<readonly LeaseEntry[]> {
  const { files } = await findRepositories(roots);
  const all = files
    .filter(isRepositoryFile)
    .flatMap((path) => (statsAt(path)?.isDirectory() ? filesBelow(path) : path));
  const states: LeaseEntry[] = [];
  for (const [index, path] of all.entries()) {
    if (index % PORTION === 0) await nextTurn();
    const state = path.endsWith(".sample") ? ABSENT : stateAt(path);
    if (state.is !== "absent") states.push({ path, real: realOf(path), state });
  }
  return states;
}

const ABSENT = { is: "absent" } as const;

interface ChangedFile {
  readonly path: string;
  /** Null: no file, or one that was not kept. */
  readonly was: Buffer | null;
  /** Null: no file any more. Undefined: it is a link, or too large to be kept. */
  readonly is: Buffer | null | undefined;
}

export async function changesSince(
  before: readonly LeaseEntry[],
  roots: readonly string[],
): Promise<readonly ChangedFile[]> {
  const was = new Map(before.map(({ real, state }) => [real, state]));
  const is = new Map((await repositoryStates(roots)).map(({ real, state }) => [real, state]));
  const changed: ChangedFile[] = [];
  for (const path of new Set([...was.keys(), ...is.keys()])) {
    const [then, now] = [was.get(path) ?? ABSENT, is.get(path) ?? stateAt(path)];
    if (JSON.stringify(then) === JSON.stringify(now)) continue;
    const isKept = now.is === "file" || now.is === "absent";
    changed.push({ path, was: bytesOf(then), is: isKept ? bytesOf(now) : undefined });
  }
  return changed;
}

const bytesOf = (state: LeaseEntry["state"]): Buffer | null =>
  state.is === "file" ? Buffer.from(state.base64, "base64") : null;
