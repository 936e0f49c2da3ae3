/**
 * One run of the tests: its directories, and its end. Homes, sockets and the processes that tests start name a directory of
 * their run, so the end of a run finds all of them, even after a failure or a kill.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statfsSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export interface TestRun {
  /** The process that owns the run and names it: Vitest. */
  readonly owner: number;
  /** On the disk: the database server, homes of sandboxed commands, and the tests of crashes. */
  readonly disk: string;
  /** In memory if there is room, because a flush of a disk takes longer than most tests. */
  readonly memory: string;
}

const PREFIX = "rookery-run-";
const OWNER = /^rookery-run-(\d+)$/;
const END_RUN = fileURLToPath(new URL("./end-run.ts", import.meta.url));
const ENOUGH_BYTES = 4 * 1024 ** 3;
/** PostgreSQL ends itself and removes its shared memory within this time; then it is killed. */
const POSTGRES_MS = 5_000;
const GIVE_UP_MS = 8_000;

/** A run inside another run stays in the directory of that run, as `TMPDIR` says. */
const MEMORY = process.env.TMPDIR ? tmpdir() : "/dev/shm";

export function testRun(owner = process.pid): TestRun {
  const name = PREFIX + owner;
  return { owner, disk: join(tmpdir(), name), memory: join(roomIn(MEMORY) >= ENOUGH_BYTES ? MEMORY : tmpdir(), name) };
}

function roomIn(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/** Makes the directories of this process's run, and ends runs whose owner is dead. Returns the function that ends this one. */
export async function startRun(): Promise<() => Promise<void>> {
  await endDeadRuns();
  const { owner, disk, memory } = testRun();
  // Other accounts may enter: as root, the database server has its own.
  for (const directory of new Set([disk, memory])) mkdirSync(directory, { mode: 0o755 });
  const watcher = endRunAfterOwner(owner);
  // Workers and what they start inherit it.
  process.env.ROOKERY_TEST_RUN = disk;
  return async () => {
    watcher.ref();
    const ended = once(watcher, "exit");
    watcher.kill("SIGKILL");
    await ended;
    await endRun(owner);
  };
}

/** Starts a process that ends the run when the pipe to it is closed. The system closes it when the owner is killed. */
function endRunAfterOwner(owner: number): ChildProcess {
  const wait = 'read -r _; exec "$0" "$@"';
  const watcher = spawn("/bin/sh", ["-c", wait, process.execPath, END_RUN, String(owner)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  (watcher.stdin as Partial<Socket> | null)?.unref?.();
  return watcher;
}

/** Kills the processes of a run and removes its directories. The workers of a living owner are not touched: it ends them. */
export async function endRun(owner: number): Promise<void> {
  const began = performance.now();
  for (;;) {
    const left = processesOf(owner).filter(({ parent }) => parent !== owner);
    const waited = performance.now() - began;
    if (left.length === 0 || waited > GIVE_UP_MS) break;
    for (const { pid, program } of left)
      kill(pid, program === "postgres" && waited < POSTGRES_MS ? "SIGQUIT" : "SIGKILL");
    await sleep(20);
  }
  for (const directory of directoriesOf(owner)) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}

async function endDeadRuns(): Promise<void> {
  const names = [tmpdir(), MEMORY].filter((base) => existsSync(base)).flatMap((base) => readdirSync(base));
  for (const name of new Set(names)) {
    const owner = Number(OWNER.exec(name)?.[1]);
    if (owner > 0 && !kill(owner, 0) && directoriesOf(owner).every(isOurs)) await endRun(owner);
  }
}

const directoriesOf = (owner: number): readonly string[] => [
  ...new Set([tmpdir(), MEMORY].map((base) => join(base, PREFIX + owner))),
];

const isOurs = (directory: string): boolean => {
  const uid = statSync(directory, { throwIfNoEntry: false })?.uid;
  return uid === undefined || uid === process.getuid?.();
};

interface RunProcess {
  readonly pid: number;
  readonly parent?: number;
  readonly program: string;
}

/** The processes that name the run in their environment, arguments or working directory. */
function processesOf(owner: number): readonly RunProcess[] {
  if (!existsSync("/proc/self/environ")) return serverOf(owner);
  const name = new RegExp(`${PREFIX}${owner}(?!\\d)`);
  return readdirSync("/proc").flatMap((entry) => {
    const pid = Number(entry);
    if (!(pid > 0) || pid === process.pid) return [];
    try {
      const [environment = "", command = "", stat = ""] = ["environ", "cmdline", "stat"].map((file) =>
        readFileSync(`/proc/${pid}/${file}`, "latin1"),
      );
      if (!name.test(`${environment}\0${command}\0${readlinkSync(`/proc/${pid}/cwd`)}`)) return [];
      const [, program = "", parent] = /^\d+ \((.*)\) \S (\d+)/su.exec(stat) ?? [];
      return [{ pid, program, parent: Number(parent) }];
    } catch {
      // It has ended, or belongs to someone else.
      return [];
    }
  });
}

/** Without `/proc` only the database server is found. */
function serverOf(owner: number): readonly RunProcess[] {
  try {
    const pidFile = join(testRun(owner).disk, "postgres", "data", "postmaster.pid");
    return [{ pid: Number.parseInt(readFileSync(pidFile, "utf8"), 10), program: "postgres" }];
  } catch {
    return [];
  }
}

/** Returns false if there is no such process, or if it belongs to someone else. */
function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
