/** What a tick is about: the tasks in `heartbeat/`, and the file HEARTBEAT.md, as one prompt. */
import type { Gate } from "../../../core/schedule/job.ts";

export interface HeartbeatTask {
  readonly id: string;
  readonly title: string;
  readonly prompt: string;
  readonly gate?: Gate;
}

/** One task is its own prompt; several are run together, by title. */
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
 * A file that says nothing: blank lines, headings, list items without words. A missing file is another thing; `#TODO` and
 * comments are words.
 */
export function isHeartbeatContentEffectivelyEmpty(content: string): boolean {
  return content
    .split(/\r?\n/u)
    .map((line) => line.trim())
    .every((line) => line === "" || /^#+(\s|$)/u.test(line) || /^[-*+]\s*(\[[\sXx]?\]\s*)?$/u.test(line));
}
