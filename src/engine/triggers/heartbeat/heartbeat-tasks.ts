/**
 * The tasks of a heartbeat: those stored with its job, which tools add and remove, and the files in `heartbeat/`. One tick
 * runs them as one prompt.
 */

import { DeniedError, NotFoundError } from "../../../core/errors.ts";
import type { CronJob, Gate } from "../../../core/schedule/job.ts";
import { versionOf } from "../../../core/schedule/job-times.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { trimChars } from "../../../core/trim-chars.ts";
import { heartbeatJobId } from "./heartbeat-job.ts";

export interface HeartbeatTask {
  readonly id: string;
  readonly title: string;
  readonly prompt: string;
  readonly gate?: Gate;
  /** Its file was written with untrusted text in context (M32). */
  readonly untrusted?: boolean;
}

interface TaskPorts {
  readonly store: Pick<StoreReader, "job">;
  /** The task files of a profile. */
  tasks?(profile: string): Promise<readonly HeartbeatTask[]>;
}

export class HeartbeatTasks {
  readonly #ports: TaskPorts;

  constructor(ports: TaskPorts) {
    this.#ports = ports;
  }

  async list(profile: string): Promise<readonly (HeartbeatTask & { readonly file?: string })[]> {
    const stored = (await this.#ports.store.job(heartbeatJobId(profile)))?.tasks ?? [];
    const files = await this.#files(profile);
    return [...stored, ...files.map((task) => ({ ...task, file: `heartbeat/${task.id}.md` }))];
  }

  /** Adds a task, or replaces the one with its id. */
  async addOps(
    profile: string,
    { title, prompt, ...given }: { readonly id?: string; readonly title: string; readonly prompt: string },
  ): Promise<{ readonly id: string; readonly ops: readonly Op[] }> {
    const job = await this.#job(profile);
    const before = job.tasks ?? [];
    const id = given.id ?? taskIdFrom(title, before);
    const tasks = [...before.filter((one) => one.id !== id), { id, title, prompt }];
    return { id, ops: [{ op: "job.put", job: { ...job, tasks }, expect: versionOf(job) }] };
  }

  async removeOps(profile: string, id: string): Promise<readonly Op[]> {
    const job = await this.#job(profile);
    const before = job.tasks ?? [];
    const tasks = before.filter((task) => task.id !== id);
    if (tasks.length < before.length) return [{ op: "job.put", job: { ...job, tasks }, expect: versionOf(job) }];
    if ((await this.#files(profile)).some((task) => task.id === id)) {
      throw new DeniedError(`This task is the file heartbeat/${id}.md.`, { hint: "Remove the file." });
    }
    throw new NotFoundError(`There is no heartbeat task ${id}.`);
  }

  async #files(profile: string): Promise<readonly HeartbeatTask[]> {
    return (await this.#ports.tasks?.(profile)) ?? [];
  }

  async #job(profile: string): Promise<CronJob> {
    const job = await this.#ports.store.job(heartbeatJobId(profile));
    if (job) return job;
    throw new NotFoundError(`The profile ${profile} has no heartbeat.`, {
      hint: "Turn it on: heartbeat.every in the configuration.",
    });
  }
}

/** A short id from the title, with a number if the id is taken. */
function taskIdFrom(title: string, tasks: readonly { readonly id: string }[]): string {
  const base = trimChars(title.toLowerCase().replace(/[^a-z0-9]+/gu, "-"), "-").slice(0, 60) || "task";
  const taken = new Set(tasks.map(({ id }) => id));
  let id = base;
  for (let n = 2; taken.has(id); n++) id = `${base}-${n}`;
  return id;
}

/** A single task is the prompt itself. Several are run together, sorted by title. */
export function batchPrompt(tasks: readonly HeartbeatTask[]): string {
  const [only, ...more] = tasks;
  if (!only) return "";
  if (more.length === 0) return only.prompt;
  const sorted = [...tasks].sort((a, b) => (a.title === b.title ? (a.id < b.id ? -1 : 1) : a.title < b.title ? -1 : 1));
  return [
    "# Heartbeat run",
    `Run all ${tasks.length} heartbeat tasks together. Keep results grouped by task.`,
    ...sorted.map(({ id, title, prompt }, index) => `## ${index + 1}. ${title}\nid: ${id}\n\n${prompt}`),
  ].join("\n\n");
}

/**
 * True for a file with nothing but blank lines, headings and empty list items. `#TODO` and comments count as content. A
 * missing file is not an empty one.
 */
export function isHeartbeatContentEffectivelyEmpty(content: string): boolean {
  return content
    .split(/\r?\n/u)
    .map((line) => line.trim())
    .every((line) => line === "" || /^#+(\s|$)/u.test(line) || /^[-*+]\s*(\[[\sXx]?\]\s*)?$/u.test(line));
}
