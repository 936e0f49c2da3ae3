/**
 * `ask` of the library against a bare loop over the same model, in process and through the gateway, as ratios: a loop that keeps
 * its messages in an array, with no store, no queue and no tools. The model server is a process of its own and has no delay.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdkModel } from "../src/adapters/models/ai-sdk/ai-sdk-model.ts";
import { systemClock } from "../src/adapters/system/system-clock.ts";
import { rookeryClient } from "../src/app/client/rookery-client.ts";
import { connectRookery } from "../src/app/library/connect-rookery.ts";
import { openEngine } from "../src/app/library/open-engine.ts";
import { configSchema } from "../src/config/config-schema.ts";
import { homePaths } from "../src/config/paths.ts";
import { silentLog } from "../src/core/ports/log.ts";
import type { Model, ModelMessage } from "../src/core/ports/model.ts";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";

const ROUNDS = 7;
const TURNS = 25;
const STARTS = 7;
const TOKEN = "bench-token-0123456789abcdef";
const fileOf = (name: string): string => fileURLToPath(new URL(`./${name}.ts`, import.meta.url));

type Ask = (user: string, text: string) => Promise<unknown>;
interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
}

/** One conversation, one turn after the other: milliseconds and processor time of this process, per turn. */
async function measure(ask: Ask, user: string): Promise<Cost> {
  const begun = performance.now();
  const cpu = process.cpuUsage();
  for (let turn = 0; turn < TURNS; turn++) await ask(user, `turn ${turn}`);
  const used = process.cpuUsage(cpu);
  return { ms: (performance.now() - begun) / TURNS, cpuMs: (used.user + used.system) / 1000 / TURNS };
}

function bareLoop(model: Model): Ask {
  const conversations = new Map<string, ModelMessage[]>();
  return async (user, text) => {
    const messages = conversations.get(user) ?? [];
    conversations.set(user, messages);
    messages.push({ role: "user", content: [{ type: "text", text }] });
    const request = { model: "auto", system: "You are helpful.", messages, tools: [], sessionId: user };
    const { content } = await model.call(request, new AbortController().signal, () => {});
    messages.push({ role: "assistant", content });
  };
}

async function startTimes(): Promise<readonly Cost[]> {
  const times: Cost[] = [];
  for (let n = 0; n < STARTS; n++) {
    const { stdout } = await promisify(execFile)(process.execPath, [fileOf("library/start-child")]);
    times.push(JSON.parse(stdout) as Cost);
  }
  return times;
}

export const libraryBench: Bench = {
  about:
    "ask in process, through the gateway and in a bare loop over the same model, as ratios; and the start of an engine",
  async run(say) {
    const server = spawn(process.execPath, [fileOf("front/model-child")], { stdio: ["ignore", "pipe", "inherit"] });
    const home = mkdtempSync(join(tmpdir(), "rookery-library-"));
    const [first] = (await once(server.stdout, "data")) as [Buffer];
    const fake = createOpenAICompatible({ name: "fake", baseURL: `http://127.0.0.1:${Number(first.toString())}` })("m");
    const model = aiSdkModel(fake, { clock: systemClock, stallMs: 60_000 });
    const onFatal = (error: unknown): never => {
      throw error;
    };
    const engine = await openEngine({
      ...{
        paths: homePaths(home),
        config: configSchema.parse({}),
        connectors: [],
        log: silentLog,
        model,
        env: {},
        onFatal,
      },
      stays: true,
      rootToken: () => TOKEN,
    });
    const { url } = await engine.served.listen({ port: 0 });
    const here = rookeryClient(engine.served.transport);
    const there = connectRookery({ url, token: TOKEN });
    const ways: Readonly<Record<"bare" | "here" | "there", Ask>> = {
      bare: bareLoop(model),
      here: (user, text) => here.agent(user).ask(text),
      there: (user, text) => there.agent(`${user}-there`).ask(text),
    };
    try {
      const rounds: Record<keyof typeof ways, Cost>[] = [];
      for (let n = 0; n <= ROUNDS; n++) {
        const round = {
          bare: await measure(ways.bare, `p${n}`),
          here: await measure(ways.here, `p${n}`),
          there: await measure(ways.there, `p${n}`),
        };
        // The first round warms the process up.
        if (n > 0) rounds.push(round);
        say(`round ${n}: bare ${shown(round.bare)}, in process ${shown(round.here)}, gateway ${shown(round.there)}`);
      }
      const starts = await startTimes();
      const ratio = (way: "here" | "there", what: keyof Cost): number =>
        median(rounds.map((round) => round[way][what] / round.bare[what]));
      const of = (way: keyof typeof ways): number => median(rounds.map((round) => round[way].ms));
      return {
        figures: [
          { what: "a turn of the bare loop", value: of("bare"), unit: "ms" },
          { what: "ask in process", value: of("here"), unit: "ms" },
          { what: "ask through the gateway", value: of("there"), unit: "ms" },
          { what: "ask in process, against the bare loop", value: ratio("here", "ms"), unit: "×" },
          { what: "ask through the gateway, against the bare loop", value: ratio("there", "ms"), unit: "×" },
          { what: "the same in processor time, in process", value: ratio("here", "cpuMs"), unit: "×" },
          { what: "the same in processor time, through the gateway", value: ratio("there", "cpuMs"), unit: "×" },
          {
            what: "createRookery to the first message, processor time",
            value: median(starts.map(({ cpuMs }) => cpuMs)),
            unit: "ms",
          },
        ],
        goals: [
          {
            what: "createRookery to the first accepted message",
            goal: 250,
            better: "less",
            measured: median(starts.map(({ ms }) => ms)),
            unit: "ms",
          },
        ],
      };
    } finally {
      await there.close();
      await engine.close();
      server.kill();
      rmSync(home, { recursive: true, force: true });
    }
  },
};

const shown = ({ ms, cpuMs }: Cost): string => `${ms.toFixed(1)} ms (${cpuMs.toFixed(1)} of processor time)`;
