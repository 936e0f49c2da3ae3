/** Measures what it costs to take the next message with ten and with ten thousand waiting. In memory: no disk is measured. */

import { openMemoryStore } from "../src/adapters/store/sqlite/open-store.ts";
import { systemClock } from "../src/adapters/system/system-clock.ts";
import { systemIds } from "../src/adapters/system/system-ids.ts";
import { parseConfig } from "../src/config/parse-config.ts";
import { silentLog } from "../src/core/ports/log.ts";
import type { Model } from "../src/core/ports/model.ts";
import { AgentSystem } from "../src/engine/agents/agent-system.ts";
import { testSettings } from "../test/kit/settings.ts";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";

const ROUNDS = 5;
const FEW = 10;
const MANY = 10_000;
const WARM_UP = 20;
const MEASURED = 300;

export const queueBench: Bench = {
  about: "taking the next message with few and with many waiting",
  async run(say) {
    const few: number[] = [];
    const many: number[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      few.push(await microsecondsPerTurn(FEW));
      many.push(await microsecondsPerTurn(MANY));
      say(
        `round ${round}: ${Math.round(few.at(-1) ?? 0)} µs with ${FEW} waiting, ${Math.round(many.at(-1) ?? 0)} µs with ${MANY.toLocaleString("en")}`,
      );
    }
    return {
      figures: [
        { what: `a turn with ${FEW} waiting`, value: median(few), unit: "µs" },
        { what: `a turn with ${MANY.toLocaleString("en")} waiting`, value: median(many), unit: "µs" },
      ],
      goals: [
        {
          what: "many waiting against few",
          goal: 1.3,
          better: "less",
          measured: median(many) / median(few),
          unit: "×",
        },
      ],
    };
  },
};

/** An agent with this many messages in its inbox takes one after the other; for each one it takes, another arrives. */
async function microsecondsPerTurn(waiting: number): Promise<number> {
  let turns = 0;
  let begun = process.cpuUsage();
  const { promise: done, resolve } = Promise.withResolvers<number>();
  const model: Model = {
    async call() {
      turns += 1;
      // The first turns warm the agent up and are not counted.
      if (turns === WARM_UP) begun = process.cpuUsage();
      if (turns === WARM_UP + MEASURED) {
        const { user, system: kernel } = process.cpuUsage(begun);
        resolve((user + kernel) / MEASURED);
        await new Promise(() => {});
      }
      await system.post({ to, body: { kind: "user", text: "one more" } });
      // The answer is empty, so that the context grows as little as possible with each turn.
      return { content: [], stopReason: "stop", api: "s", provider: "s", model: "s" };
    },
  };
  const store = openMemoryStore();
  const { config } = parseConfig({ text: '{ queue: { mode: "queue", cap: 10000 } }', file: "rookery.json5", env: {} });
  const ports = {
    clock: systemClock,
    ids: systemIds(),
    log: silentLog,
    store,
    model,
    tools: { list: () => [], find: () => undefined },
    files: { write: async (name: string) => name, read: async () => undefined },
    connectors: new Map(),
  };
  const options = {
    nodeName: "bench",
    settings: testSettings({ queue: { ...config.queue, cap: 100_000 } }),
    resolveModel: () => ({ model: "s", system: "" }),
  };
  const idle = new AgentSystem(ports, options);
  await idle.load();
  const to = { descriptor: { type: "user", connector: "bench", userId: "u", channelId: "u" } } as const;
  for (let n = 0; n < waiting; n += 100) {
    const portion = Array.from({ length: Math.min(100, waiting - n) }, (_, i) =>
      idle.post({ to, body: { kind: "user", text: `word ${n + i}` } }),
    );
    await Promise.all(portion);
  }
  const system = new AgentSystem(ports, options);
  await system.load();
  await system.start();
  return await done;
}
