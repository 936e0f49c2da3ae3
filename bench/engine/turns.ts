/**
 * The whole engine on a file with a model that answers at once. Each person sends the next message when the last one is
 * answered. Prints turns per second, their cost, and the memory of the process.
 */

import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model } from "../../src/core/ports/model.ts";
import type { Store } from "../../src/core/store/store.ts";
import { AgentSystem } from "../../src/engine/agents/agent-system.ts";
import { testSettings } from "../../test/kit/settings.ts";
import { channelTo } from "../channel.ts";

export interface Turns {
  readonly turnsPerSecond: number;
  readonly cpuMsPerTurn: number;
  readonly commitsPerTurn: number;
  readonly answerMs: { readonly p50: number; readonly p99: number };
  /** Resident megabytes after each tenth of the turns. */
  readonly residentMb: readonly number[];
  readonly lanes: unknown;
}

const [home = "", agents = "100", messages = "20", first = "0", step = "1"] = process.argv.slice(2);
const people = Array.from({ length: Number(agents) }, (_, i) => String(Number(first) + i * Number(step)));
const turns = people.length * Number(messages);

const model: Model = {
  async call(request) {
    const usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 110 };
    const text = `answer ${request.messages.length}`;
    return {
      content: [{ type: "text", text }],
      stopReason: "stop",
      api: "scripted",
      provider: "scripted",
      model: "scripted",
      usage,
    };
  },
};

/** Each person waits for the answer before the next message. */
const answered = new Map<string, () => void>();
const { connector, say } = channelTo((person) => answered.get(person)?.());

let commits = 0;
const file = openSqliteStore({ home });
const store: Store = {
  ...file,
  commit(change) {
    commits += 1;
    return file.commit(change);
  },
};
const system = new AgentSystem(
  {
    clock: systemClock,
    ids: systemIds(),
    log: silentLog,
    store,
    model,
    tools: { list: () => [], find: () => undefined },
    files: { write: async (name) => name, read: async () => undefined },
    connectors: new Map([[connector.name, connector]]),
  },
  {
    nodeName: "bench",
    settings: testSettings(),
    resolveModel: () => ({ model: "scripted", system: "You are measured." }),
  },
);
await system.load();
await system.start();

const residentMb: number[] = [];
const waits: number[] = [];
let done = 0;
commits = 0;
const cpu = process.cpuUsage();
const begun = performance.now();
await Promise.all(
  people.map(async (person) => {
    for (let n = 0; n < Number(messages); n++) {
      const said = performance.now();
      const answer = new Promise<void>((resolve) => answered.set(person, resolve));
      await say(person, `${process.pid}-${n}`, `word ${n} of ${person}`);
      await answer;
      waits.push(performance.now() - said);
      done += 1;
      if (done % Math.ceil(turns / 10) === 0) residentMb.push(Math.round(process.memoryUsage.rss() / 1_048_576));
    }
  }),
);
await system.settled();
const ms = performance.now() - begun;
const used = process.cpuUsage(cpu);
waits.sort((a, b) => a - b);
const at = (share: number): number => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0;
const report: Turns = {
  turnsPerSecond: turns / (ms / 1000),
  cpuMsPerTurn: (used.user + used.system) / 1000 / turns,
  commitsPerTurn: commits / turns,
  answerMs: { p50: at(0.5), p99: at(0.99) },
  residentMb,
  lanes: system.lanes.counts(),
};
await system.drain();
await store.close();
console.log(JSON.stringify(report));
