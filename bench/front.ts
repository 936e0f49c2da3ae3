/**
 * Turns over HTTP: the real process, a model server without delay, twenty people over `/v1/chat/completions`.
 * The same load on the bare model server shows the limit of the machine.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";

const ROUNDS = 3;
const PEOPLE = 20;
const TURNS = 100;
const TOKEN = "bench-token-0123456789abcdef";

interface Load {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

interface Round extends Load {
  readonly residentMb: number;
  readonly startMs: number;
  readonly bare: number;
}

const fileOf = (name: string): string => fileURLToPath(new URL(`./front/${name}.ts`, import.meta.url));
const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

export const frontBench: Bench = {
  about:
    "turns over HTTP with twenty conversations, memory afterwards, and the time from the start to the first accepted message",
  async run(say) {
    const model = spawn(process.execPath, [fileOf("model-child")], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [first] = (await once(model.stdout, "data")) as [Buffer];
      const modelPort = Number(first.toString());
      const rounds: Round[] = [];
      for (let n = 1; n <= ROUNDS; n++) {
        const round = await measure(modelPort);
        rounds.push(round);
        const { perSecond, p50, p99, residentMb, startMs, bare } = round;
        say(
          `run ${n}: ${perSecond.toFixed(0)} turns/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${residentMb.toFixed(0)} MB afterwards, first message accepted ${startMs.toFixed(0)} ms after the start; the bare call ${bare.toFixed(0)}/s`,
        );
      }
      const of = (what: (round: Round) => number): number => median(rounds.map(what));
      return {
        figures: [
          { what: "answer, p99", value: of(({ p99 }) => p99), unit: "ms" },
          { what: "the bare call of the model server", value: of(({ bare }) => bare), unit: "/s" },
        ],
        goals: [
          {
            what: `turns per second, ${PEOPLE} conversations`,
            goal: 300,
            better: "more",
            measured: of(({ perSecond }) => perSecond),
            unit: "/s",
          },
          { what: "answer, p50", goal: 60, better: "less", measured: of(({ p50 }) => p50), unit: "ms" },
          {
            what: "resident afterwards",
            goal: 160,
            better: "less",
            measured: of(({ residentMb }) => residentMb),
            unit: "MB",
          },
          {
            what: "start to first accepted message",
            goal: 600,
            better: "less",
            measured: of(({ startMs }) => startMs),
            unit: "ms",
          },
        ],
      };
    } finally {
      model.kill();
    }
  },
};

async function measure(modelPort: number): Promise<Round> {
  const home = mkdtempSync(join(tmpdir(), "rookery-front-"));
  const port = await freePort();
  const provider = {
    api: "openai-completions",
    baseUrl: `http://127.0.0.1:${modelPort}/v1`,
    apiKey: { env: "K" },
    models: [{ id: "fake" }],
  };
  const config = { gateway: { port }, models: { default: "local/fake", providers: { local: provider } } };
  writeFileSync(join(home, "rookery.json5"), JSON.stringify(config));
  const begun = performance.now();
  const server = spawn(process.execPath, [MAIN, "serve", "--home", home], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, ROOKERY_TOKEN: TOKEN, K: "k" },
  });
  try {
    while (!(await accepted(port))) await new Promise((next) => setTimeout(next, 5));
    const startMs = performance.now() - begun;
    // The first rounds warm the process up.
    await load(port, 20);
    const through = await load(port, TURNS);
    // A second later the process has released the memory of the load.
    await new Promise((next) => setTimeout(next, 1_000));
    const residentMb = residentOf(server);
    const { perSecond: bare } = await load(modelPort, TURNS, "/chat/completions");
    return { ...through, residentMb, startMs, bare };
  } finally {
    server.kill();
    await once(server, "exit");
    rmSync(home, { recursive: true, force: true });
  }
}

async function load(port: number, turns: number, path = "/v1/chat/completions"): Promise<Load> {
  const args = [fileOf("caller-child"), String(port), TOKEN, String(PEOPLE), String(turns), path];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Load;
}

/** The first byte of a stream is sent when the message is durable. */
function accepted(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const body = JSON.stringify({
      model: "main",
      user: "first",
      stream: true,
      messages: [{ role: "user", content: "hi" }],
    });
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const asked = request(
      { host: "127.0.0.1", port, path: "/v1/chat/completions", method: "POST", headers },
      (response) => {
        response.once("data", () => resolve(response.statusCode === 200));
        response.resume();
      },
    );
    asked.on("error", () => resolve(false));
    asked.end(body);
  });
}

function residentOf({ pid }: ChildProcess): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? Number.NaN) / 1024;
}

async function freePort(): Promise<number> {
  const { createServer } = await import("node:net");
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
