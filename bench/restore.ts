/**
 * Measures what it costs to restore an agent's context after a restart, with a long history and with a short one. Both have
 * the same number of entries after their last marker. A newly opened store reads a file: nothing is in the process's memory.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../src/adapters/store/sqlite/open-store.ts";
import { systemClock } from "../src/adapters/system/system-clock.ts";
import { systemIds } from "../src/adapters/system/system-ids.ts";
import type { AgentSeed } from "../src/core/agent/agent.ts";
import type { AgentDescriptor } from "../src/core/agent/descriptor.ts";
import { type Entry, entryLine } from "../src/core/history/entry.ts";
import { type AgentId, type EntryId, entryId, type SessionId } from "../src/core/ids.ts";
import { silentLog } from "../src/core/ports/log.ts";
import type { Model } from "../src/core/ports/model.ts";
import { AgentSystem } from "../src/engine/agents/agent-system.ts";
import { buildHistoryContext } from "../src/engine/context/context.ts";
import { seedAgent } from "../src/engine/context/seed-agent.ts";
import { testSettings } from "../test/kit/settings.ts";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";

const LONG = 50_000;
const RESETS = 12;
const AFTER_MARKER = 50;
const ROUNDS = 40;
const ids = systemIds();

export const restoreBench: Bench = {
  about: "restoring an agent's context from a long history and from a short one",
  async run(say) {
    const home = mkdtempSync(join(tmpdir(), "rookery-bench-restore-"));
    try {
      const store = openSqliteStore({ home });
      const long = await make(store, "long", LONG, RESETS);
      const short = await make(store, "short", AFTER_MARKER, 0);
      await store.close();
      say(`made: ${LONG.toLocaleString("en")} entries with ${RESETS} resets, and ${AFTER_MARKER} entries`);
      const read = { long: [] as number[], short: [] as number[] };
      const turn = { long: [] as number[], short: [] as number[] };
      // The first rounds warm the code up and are not counted.
      for (let round = -5; round < ROUNDS; round++) {
        // Alternating, so that other load of the machine affects both.
        for (const [kind, { id }] of [["long", long] as const, ["short", short] as const]) {
          const took = await milliseconds(home, id);
          if (round >= 0) read[kind].push(took);
        }
      }
      say(`read back ${ROUNDS} times each`);
      for (let round = -2; round < ROUNDS / 4; round++) {
        for (const [kind, { id }] of [["long", long] as const, ["short", short] as const]) {
          const took = await firstTurn(home, id);
          if (round >= 0) turn[kind].push(took);
        }
      }
      const ratio = (of: typeof read): number => median(of.long) / median(of.short);
      return {
        figures: [
          { what: "context of the short history", value: median(read.short), unit: "ms" },
          { what: "context of the long history", value: median(read.long), unit: "ms" },
          { what: "start of the engine to the model's call, short", value: median(turn.short), unit: "ms" },
          { what: "start of the engine to the model's call, long", value: median(turn.long), unit: "ms" },
        ],
        goals: [
          { what: "context: long against short", goal: 1.5, better: "less", measured: ratio(read), unit: "×" },
          { what: "first turn: long against short", goal: 1.5, better: "less", measured: ratio(turn), unit: "×" },
        ],
      };
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
};

async function make(
  store: ReturnType<typeof openSqliteStore>,
  name: string,
  entries: number,
  resets: number,
): Promise<AgentSeed> {
  const descriptor: AgentDescriptor = { type: "user", connector: "bench", userId: name, channelId: name };
  const seed = seedAgent(ids, descriptor, 1);
  const lines = [...seed.lines];
  let { leaf, sessionId } = seed;
  const add = (entry: Record<string, unknown>): void => {
    const id = entryId(lines.length, ids.uuid());
    lines.push(entryLine({ ...entry, id, parentId: leaf } as unknown as Entry));
    leaf = id as EntryId;
  };
  // The resets are evenly spaced; as many entries follow the last one as in the short history.
  const behind = entries - AFTER_MARKER;
  const every = Math.max(1, Math.floor(behind / Math.max(1, resets)));
  const isReset = (n: number): boolean => n <= behind && (behind - n) % every === 0 && (behind - n) / every < resets;
  for (let n = 1; n <= entries; n++) {
    if (isReset(n)) {
      sessionId = ids.uuid() as SessionId;
      add({ type: "reset", sessionId, timestamp: n });
      continue;
    }
    const text = `${n}: ${"something was said here ".repeat(n % 12)}`;
    const role = n % 2 === 0 ? "assistant" : "user";
    add({ type: "message", role, content: [{ type: "text", text }], timestamp: n });
  }
  const made = { ...seed, lines, leaf, sessionId };
  await store.commit({ id: ids.change(), site: "bench", at: 1, ops: [{ op: "agent.create", seed: made }] });
  return made;
}

/** Reads the record and the context from a newly opened store. */
async function milliseconds(home: string, id: AgentId): Promise<number> {
  const store = openSqliteStore({ home });
  const begun = performance.now();
  const agent = await store.agent(id);
  const { messages } = await buildHistoryContext(store, id, agent?.leaf as EntryId);
  const took = performance.now() - begun;
  if (messages.length < AFTER_MARKER) throw new RangeError(`${messages.length} messages were read back.`);
  await store.close();
  return took;
}

/** A new engine on the home: from its start, through a message, to the call of the model. The model does not answer. */
async function firstTurn(home: string, id: AgentId): Promise<number> {
  const store = openSqliteStore({ home });
  const { promise: asked, resolve } = Promise.withResolvers<number>();
  const model: Model = {
    async call({ messages }) {
      resolve(messages.length);
      return {
        content: [],
        stopReason: "error",
        api: "",
        provider: "",
        model: "",
        error: { class: "auth", message: "" },
      };
    },
  };
  const system = new AgentSystem(
    {
      ...{ clock: systemClock, ids, store, model, log: silentLog, connectors: new Map() },
      tools: { list: () => [], find: () => undefined },
      files: { write: async (name) => name, read: async () => undefined },
    },
    { nodeName: "bench", settings: testSettings(), resolveModel: () => ({ model: "bench", system: "" }) },
  );
  const begun = performance.now();
  await system.load();
  await system.start();
  await system.post({ to: { agentId: id }, body: { kind: "user", text: "hi" } });
  await asked;
  const took = performance.now() - begun;
  await system.drain();
  await store.close();
  return took;
}
