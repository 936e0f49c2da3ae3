/**
 * Turns over HTTP: the real process and a bare durable proxy (`front/proxy-child.ts`) in alternating rounds, with a model server
 * without delay. Other load of the machine cancels out in the ratio of their processor time.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Figures, freePort, measureServer, type Server, TOKEN, type TurnLoad } from "./front/measure-server.ts";
import { COUNTED, countTurns, TURN_LIMITS } from "./front/turn-counts.ts";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";

const ROUNDS = 3;
/** 5,000 turns: a hundred people, twenty at once. */
const LOAD: TurnLoad = { groups: 5, people: 20, turns: 50 };

interface Round {
  readonly gateway: Figures;
  readonly proxy: Figures;
}

const fileOf = (name: string): string => fileURLToPath(new URL(`./front/${name}.ts`, import.meta.url));
const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

const cpuMs = ({ userMs, systemMs }: Figures): number => userMs + systemMs;

export const frontBench: Bench = {
  about:
    "turns over HTTP beside a bare durable proxy: ratio of processor time, throughput, memory, start, counts per turn",
  async run(say) {
    const model = spawn(process.execPath, [fileOf("model-child")], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [first] = (await once(model.stdout, "data")) as [Buffer];
      const modelUrl = `http://127.0.0.1:${Number(first.toString())}/v1`;
      const rounds: Round[] = [];
      for (let n = 0; n < ROUNDS; n++) {
        // The order is swapped every round, so that neither always runs second.
        const early = n % 2 === 0 ? undefined : await measureProxy(modelUrl);
        const gateway = await measureGateway(modelUrl);
        const proxy = early ?? (await measureProxy(modelUrl));
        rounds.push({ gateway, proxy });
        say(
          `round ${n + 1}: ${(cpuMs(gateway) / cpuMs(proxy)).toFixed(2)} times the processor time of the proxy (${shown(gateway)} against ${shown(proxy)} per turn)`,
        );
      }
      const counts = await countTurns();
      const of = (what: (figures: Figures) => number, who: keyof Round = "gateway"): number =>
        median(rounds.map((round) => what(round[who])));
      const ratio = (what: (figures: Figures) => number): number =>
        median(rounds.map(({ gateway, proxy }) => what(gateway) / what(proxy)));
      return {
        figures: [
          { what: "processor time per turn, gateway / proxy", value: ratio(cpuMs), unit: "" },
          { what: "… user", value: ratio(({ userMs }) => userMs), unit: "" },
          { what: "… system", value: ratio(({ systemMs }) => systemMs), unit: "" },
          ...(["gateway", "proxy"] as const).flatMap((who) => [
            { what: `${who}: user time per turn`, value: of(({ userMs }) => userMs, who), unit: "ms" },
            { what: `${who}: system time per turn`, value: of(({ systemMs }) => systemMs, who), unit: "ms" },
            { what: `${who}: turns`, value: of(({ perSecond }) => perSecond, who), unit: "/s" },
            { what: `${who}: first word, p50`, value: of(({ firstWordMs }) => firstWordMs, who), unit: "ms" },
            { what: `${who}: answer, p99`, value: of(({ p99 }) => p99, who), unit: "ms" },
            { what: `${who}: memory idle`, value: of(({ idleMb }) => idleMb, who), unit: "MB" },
            {
              what: `${who}: memory after 5,000 turns and half a minute`,
              value: of(({ afterMb }) => afterMb, who),
              unit: "MB",
            },
            {
              what: `${who}: start to first accepted message`,
              value: of(({ acceptedMs }) => acceptedMs, who),
              unit: "ms",
            },
          ]),
        ],
        goals: [
          {
            what: `turns per second, ${LOAD.people} conversations at once`,
            goal: 300,
            better: "more",
            measured: of(({ perSecond }) => perSecond),
            unit: "/s",
          },
          { what: "answer, p50", goal: 60, better: "less", measured: of(({ p50 }) => p50), unit: "ms" },
          { what: "memory idle", goal: 130, better: "less", measured: of(({ idleMb }) => idleMb), unit: "MB" },
          {
            what: "memory after 5,000 turns and half a minute",
            goal: 150,
            better: "less",
            measured: of(({ afterMb }) => afterMb),
            unit: "MB",
          },
          {
            what: "start to first accepted message",
            goal: 600,
            better: "less",
            measured: of(({ acceptedMs }) => acceptedMs),
            unit: "ms",
          },
          ...COUNTED.map((name) => ({
            what: `${name} per turn`,
            goal: TURN_LIMITS[name],
            better: "less" as const,
            measured: counts[name],
            unit: "",
          })),
        ],
      };
    } finally {
      model.kill();
    }
  },
};

const shown = ({ userMs, systemMs }: Figures): string => `${userMs.toFixed(2)} + ${systemMs.toFixed(2)} ms`;

const measureGateway = (modelUrl: string): Promise<Figures> =>
  inDirectory(async (home) => {
    const port = await freePort();
    const provider = { api: "openai-completions", baseUrl: modelUrl, apiKey: { env: "K" }, models: [{ id: "fake" }] };
    const config = { gateway: { port }, models: { default: "local/fake", providers: { local: provider } } };
    writeFileSync(join(home, "rookery.json5"), JSON.stringify(config));
    const begun = performance.now();
    const child = spawn(process.execPath, [MAIN, "serve", "--home", home], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, ROOKERY_TOKEN: TOKEN, K: "k" },
    });
    return measured({ child, port, model: "main" }, begun);
  });

const measureProxy = (modelUrl: string): Promise<Figures> =>
  inDirectory(async (directory) => {
    const begun = performance.now();
    const args = [fileOf("proxy-child"), join(directory, "proxy.db"), modelUrl];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const [first] = (await once(child.stdout, "data")) as [Buffer];
    return measured({ child, port: Number(first.toString()), model: "main" }, begun);
  });

async function measured(server: Server, begun: number): Promise<Figures> {
  try {
    return await measureServer(server, begun, LOAD);
  } finally {
    server.child.kill();
    if (server.child.exitCode === null) await once(server.child, "exit");
  }
}

async function inDirectory<Result>(use: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), "rookery-front-"));
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
