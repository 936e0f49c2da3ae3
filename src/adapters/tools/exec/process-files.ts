/**
 * The files of one process: what it is, its output, its input and its exit code. They are written outside of the sandbox and
 * hidden from every command.
 */
import { open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { backgroundProcessSchema } from "../../../core/agent/background-process.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { DiskStart } from "./disk-watch.ts";

/** `pid` and `startTime` are absent until the process has started. */
const processInfoSchema = backgroundProcessSchema.partial({ pid: true, startTime: true }).extend({
  agentId: z.string(),
  callId: z.string(),
  background: z.boolean(),
  /** Its agent knows that it has ended. */
  told: z.literal(true).optional(),
  /** What it has written was looked at after its end. */
  settled: z.literal(true).optional(),
});
export type ProcessInfo = z.infer<typeof processInfoSchema>;

export interface ProcessFiles {
  readonly directory: string;
  readonly output: string;
  readonly input: string;
  readonly status: string;
}

const ID = /^[0-9a-f]{16}$/;
const AGENT = /^[a-z0-9]{8,64}$/;

/** Undefined for a text that is not an id: it could name another directory. */
export function filesOf(root: string, agentId: AgentId, id: string): ProcessFiles | undefined {
  if (!ID.test(id) || !AGENT.test(agentId)) return undefined;
  const directory = join(root, agentId, id);
  return {
    directory,
    output: join(directory, "output"),
    input: join(directory, "input"),
    status: join(directory, "status"),
  };
}

export async function writeInfo({ directory }: ProcessFiles, info: ProcessInfo): Promise<void> {
  const path = join(directory, "process.json");
  await writeFile(`${path}.new`, JSON.stringify(info), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** Undefined if there is none, or if it cannot be read. */
export async function readInfo({ directory }: ProcessFiles): Promise<ProcessInfo | undefined> {
  try {
    return processInfoSchema.parse(JSON.parse(await readFile(join(directory, "process.json"), "utf8")));
  } catch {
    return undefined;
  }
}

const diskStartSchema = z.object({ roots: z.array(z.string()), before: z.number() });

/** How much was in the directories of the command before it. */
export const writeDisk = ({ directory }: ProcessFiles, start: DiskStart): Promise<void> =>
  writeFile(join(directory, "disk.json"), JSON.stringify(start), { mode: 0o600 });

/** Undefined if it was not counted to the end. */
export async function readDisk({ directory }: ProcessFiles): Promise<DiskStart | undefined> {
  try {
    return diskStartSchema.parse(JSON.parse(await readFile(join(directory, "disk.json"), "utf8")));
  } catch {
    return undefined;
  }
}

/** The exit code; undefined if the wrapper has not written one. */
export async function readCode({ status }: ProcessFiles): Promise<number | undefined> {
  const text = await readFile(status, "utf8").catch(() => "");
  return /^\d{1,3}$/.test(text.trim()) ? Number(text) : undefined;
}

export async function writeCode({ status }: ProcessFiles, code: number): Promise<void> {
  await writeFile(status, `${code}\n`, { mode: 0o600, flag: "wx" }).catch(() => {});
}

export const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

/** A part of a file, shorter at its end; nothing if there is no file. */
export async function readPart(path: string, offset: number, length: number): Promise<Buffer> {
  const handle = await open(path, "r").catch(() => undefined);
  if (!handle) return Buffer.alloc(0);
  try {
    const buffer = Buffer.allocUnsafe(length);
    const { bytesRead } = await handle.read(buffer, 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** The process may still write its last file. */
export const removeFiles = ({ directory }: ProcessFiles): Promise<void> =>
  rm(directory, { recursive: true, force: true, maxRetries: 10 });

/** The ids of an agent's processes, of those that have files here. */
export async function idsOf(root: string, agentId: string): Promise<readonly string[]> {
  if (!AGENT.test(agentId)) return [];
  return (await readdir(join(root, agentId)).catch(() => [])).filter((name) => ID.test(name));
}

export const agentsOf = async (root: string): Promise<readonly string[]> =>
  (await readdir(root).catch(() => [])).filter((name) => AGENT.test(name));
