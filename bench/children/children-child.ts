/**
 * One agent and its children on a file. All children have begun and are released at the same moment. They call one tool
 * (`tool`) or none (`at-once`), then end. Measured until the last one has ended: with `reports` they are spawned and report,
 * with `bare` they are the same runs without reports.
 */

import { z } from "zod";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import { createSessionsSpawnTool } from "../../src/adapters/tools/subagents/spawn-tools.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import type { Block } from "../../src/core/history/entry.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model, ModelResult } from "../../src/core/ports/model.ts";
import type { Tool } from "../../src/core/ports/tool.ts";
import { AgentSystem } from "../../src/engine/agents/agent-system.ts";
import { testSettings } from "../../test/kit/settings.ts";

export interface Ended {
  /** From their release until the last of them has ended and its report, if any, has arrived. */
  readonly ms: number;
  /** The processor time of that period, in milliseconds. */
  readonly cpuMs: number;
  /** Until every report is answered and all agents are idle. */
  readonly restMs: number;
  /** From the first run's end to the last one's. */
  readonly endMs: number;
  readonly residentMb: number;
  /** Reports that reached the requester's model, each once. */
  readonly heard: number;
  readonly prompts: number;
}

const [home = "", how = "reports", count = "1000", form = "tool"] = process.argv.slice(2);
const children = Number(count);
const go = Promise.withResolvers<void>();
const ready = Promise.withResolvers<void>();
let waiting = 0;
let prompts = 0;
const heard = new Set<string>();

const usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 110 };
const result = (content: readonly Block[], stopReason: ModelResult["stopReason"] = "stop"): ModelResult => ({
  content,
  stopReason,
  api: "scripted",
  provider: "scripted",
  model: "scripted",
  usage,
});
const said = (text: string): ModelResult => result([{ type: "text", text }]);

/** A few at a time: this bench does not measure a run that makes a thousand calls at once. */
const PORTION = 50;
let spawned = 0;
function nextSpawns(): readonly Block[] {
  const first = spawned;
  spawned = Math.min(children, spawned + PORTION);
  return Array.from({ length: spawned - first }, (_, at): Block => {
    const n = first + at;
    const given = { task: `task ${n}`, label: `child ${n}` };
    return { type: "toolCall", id: `call-${n}`, name: "sessions_spawn", arguments: given };
  });
}

const model: Model = {
  async call({ messages }) {
    const last = messages.at(-1);
    const text = last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
    if (text.startsWith("task ")) {
      waiting += 1;
      if (waiting === children) ready.resolve();
      await go.promise;
      if (form === "at-once") return said("found it");
      return result([{ type: "toolCall", id: `work-${text.slice(5)}`, name: "work", arguments: {} }], "tool_calls");
    }
    if (text === "worked") return said("found it");
    if (text === "start" || (last?.role === "tool" && spawned < children)) return result(nextSpawns(), "tool_calls");
    if (last?.role === "tool") return said("all started");
    prompts += 1;
    for (const match of text.matchAll(/A background task "(child \d+)"/gu)) heard.add(match[1] as string);
    return said("told");
  },
};

const store = openSqliteStore({ home });
const { config } = parseConfig({ text: "{ queue: { debounceMs: 50 } }", file: "bench", env: {} });
const work: Tool = {
  name: "work",
  description: "works",
  input: z.object({}),
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 100,
  execute: async () => ({ content: [{ type: "text", text: "worked" }] }),
};
const tools: Tool[] = [work, createSessionsSpawnTool(() => system.subagents) as Tool];
const system: AgentSystem = new AgentSystem(
  {
    clock: systemClock,
    ids: systemIds(),
    log: silentLog,
    store,
    model,
    tools: { list: () => tools, find: (_agent, name) => tools.find((tool) => tool.name === name) },
    files: { write: async (name) => name, read: async () => undefined },
    connectors: new Map(),
  },
  {
    nodeName: "bench",
    settings: testSettings({
      queue: config.queue,
      lanes: { subagent: children },
      subagents: { maxChildren: children },
    }),
    resolveModel: () => ({ model: "scripted", system: "You are measured." }),
  },
);
const ends: number[] = [];
await system.load();
await system.start();

const person = { type: "user", connector: "bench", userId: "p", channelId: "p" } as const;
const parent = await system.post({
  to: { descriptor: person },
  body: { kind: "user", text: how === "bare" ? "hello" : "start" },
});
if (parent.status === "stale") throw new TypeError("a new message cannot be stale");
if (how === "bare") {
  await system.settled();
  prompts = 0;
  for (let n = 0; n < children; n++) {
    const descriptor = { type: "subagent", id: `c${n}`, parentAgentId: parent.agentId, name: `child ${n}` } as const;
    await system.post({ to: { descriptor }, body: { kind: "user", text: `task ${n}` } });
  }
}
await ready.promise;
let cpuMs = 0;
system.events.listen((event) => {
  if (event.type !== "end" || ends.push(performance.now()) !== children) return;
  const { user, system: kernel } = process.cpuUsage(before);
  cpuMs = (user + kernel) / 1000;
});
const before = process.cpuUsage();
const begun = performance.now();
go.resolve();
await system.settled();
const restMs = performance.now() - begun;
const own = ends.slice(0, children);
const ended: Ended = {
  ms: (own.at(-1) ?? 0) - begun,
  cpuMs,
  restMs,
  endMs: (own.at(-1) ?? 0) - (own[0] ?? 0),
  residentMb: Math.round(process.memoryUsage.rss() / 1_048_576),
  heard: heard.size,
  prompts,
};
await system.drain();
await store.close();
console.log(JSON.stringify(ended));
