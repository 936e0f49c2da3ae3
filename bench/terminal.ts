/**
 * The chat in a real pseudo-terminal: how fast a key is echoed while an answer streams, how fast a long conversation opens, and the
 * first screen and memory of the built package, attached to an engine and with an engine of its own.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRookery } from "../src/app/library/create-rookery.ts";
import { fakeModel, type ModelCall, type Served, serve } from "../test/e2e/serving.ts";
import { TestTerminal } from "../test/kit/terminal.ts";
import type { Bench } from "./report.ts";
import { median, percentile } from "./statistics.ts";

const STARTS = 20;
const CHARACTERS = 200_000;
const DELTAS_PER_SECOND = 5_000;
const DELTA = 10;
const TICK_MS = 4;
const KEY_MS = 60;
const MESSAGES = 10_000;

const BIN = fileURLToPath(new URL("../dist/bin.js", import.meta.url));
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const terminalBench: Bench = {
  about: "the chat: key to echo while an answer streams, a conversation of 10,000 messages, first screen and memory",
  async run(say) {
    if (!existsSync(BIN)) {
      say("building the package");
      spawnSync("npm", ["run", "build"], { stdio: "inherit" });
    }
    const model = await fakeModel();
    const served = await serve(model);
    try {
      const keys = await keysWhileStreaming(model, served);
      say(
        `key to echo: p50 ${median(keys).toFixed(1)} ms, p95 ${percentile(keys, 0.95).toFixed(1)} ms over ${keys.length} keys`,
      );
      const attached = await starts(() => new TestTerminal({ args: [BIN, "chat", "start", "--home", served.home] }));
      say(`attached: ${median(attached.ms).toFixed(0)} ms, ${median(attached.mb).toFixed(0)} MB`);
      const root = mkdtempSync(join(tmpdir(), "rookery-bench-"));
      let n = 0;
      const own = await starts(() => new TestTerminal({ args: [BIN, "--home", join(root, String(++n))] }));
      say(`own engine: ${median(own.ms).toFixed(0)} ms, ${median(own.mb).toFixed(0)} MB`);
      const long = await longConversation(root);
      say(`${MESSAGES} messages: ${long.toFixed(0)} ms to the last one on the screen`);
      rmSync(root, { recursive: true, force: true });
      return {
        figures: [
          { what: "key to echo, p50", value: median(keys), unit: "ms" },
          { what: "key to echo, longest", value: Math.max(...keys), unit: "ms" },
          { what: "attached: processor time of the first screen", value: median(attached.cpu), unit: "ms" },
          { what: "own engine: processor time of the first screen", value: median(own.cpu), unit: "ms" },
          { what: "keys", value: keys.length, unit: "" },
        ],
        goals: [
          less("key to echo at 5,000 deltas/s, p95", 35, percentile(keys, 0.95), "ms"),
          less("a conversation of 10,000 messages opens", 1_000, long, "ms"),
          less("attached: first screen, median of 20", 600, median(attached.ms), "ms"),
          less("attached: memory", 150, median(attached.mb), "MB"),
          less("own engine: first screen, median of 20", 1_200, median(own.ms), "ms"),
          less("own engine: memory", 260, median(own.mb), "MB"),
        ],
      };
    } finally {
      await served.stop();
      await model.close();
    }
  },
};

const less = (what: string, goal: number, measured: number, unit: string) =>
  ({ what, goal, measured, unit, better: "less" }) as const;

/** Streams an answer, presses a key now and then, and waits until it is on the screen. */
async function keysWhileStreaming(model: Awaited<ReturnType<typeof fakeModel>>, served: Served): Promise<number[]> {
  const called = Promise.withResolvers<ModelCall>();
  model.script = (call) => called.resolve(call);
  const terminal = new TestTerminal({ args: [BIN, "chat", "keys", "--home", served.home] });
  await terminal.until("idle");
  terminal.say("go");
  const call = await called.promise;
  const words =
    "Some **markdown** with `code` and words.\n\n- a list\n- of things\n\n```ts\nconst a = 1;\n```\n\n".repeat(2_500);
  let sent = 0;
  const begun = performance.now();
  const timer = setInterval(() => {
    const due = Math.min(CHARACTERS, ((performance.now() - begun) / 1_000) * DELTAS_PER_SECOND * DELTA);
    for (; sent < due; sent += DELTA) call.say(words.slice(sent, sent + DELTA));
    if (sent >= CHARACTERS) clearInterval(timer);
  }, TICK_MS);
  await terminal.until("writing");
  const times: number[] = [];
  for (let count = 1; sent < CHARACTERS; count++) {
    const at = performance.now();
    terminal.type("x");
    await terminal.until((text) => text.includes("x".repeat(Math.min(count, 70))));
    times.push(performance.now() - at);
    if (count >= 70) break;
    await wait(KEY_MS);
  }
  clearInterval(timer);
  call.end();
  await terminal.close();
  model.script = (one) => one.end();
  return times;
}

interface Starts {
  readonly ms: number[];
  readonly mb: number[];
  /** Processor time: does not depend on what else the machine does. */
  readonly cpu: number[];
}

async function starts(open: () => TestTerminal): Promise<Starts> {
  const [ms, mb, cpu]: [number[], number[], number[]] = [[], [], []];
  for (let n = 0; n < STARTS + 1; n++) {
    const terminal = open();
    await terminal.until("idle", 60_000);
    // The first start fills the compile cache.
    if (n > 0) {
      ms.push(performance.now() - terminal.startedAt);
      mb.push(peakMb(terminal.pty.pid));
      cpu.push(processorMs(terminal.pty.pid));
    }
    await terminal.close();
  }
  return { ms, mb, cpu };
}

const peakMb = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_000;

/** A tick of the kernel is ten milliseconds. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** From the start of the process to the last message on the screen, attached to an engine. */
async function longConversation(root: string): Promise<number> {
  const home = join(root, "long");
  const model = {
    call: async () => ({
      ...{ content: [{ type: "text" as const, text: "An answer." }], stopReason: "stop" as const },
      ...{ api: "a", provider: "p", model: "m" },
    }),
  };
  const engine = await createRookery({ home, model });
  const agent = engine.agent("agent:main:api:dm:long");
  for (let n = 1; n <= MESSAGES / 2; n += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, k) => agent.ask(`question ${n + k}`)));
  }
  const open = async (name: string, text: RegExp | string): Promise<number> => {
    const terminal = new TestTerminal({ args: [BIN, "chat", name, "--home", home] });
    await terminal.until(text, 60_000);
    const ms = performance.now() - terminal.startedAt;
    await terminal.close();
    return ms;
  };
  const times: number[] = [];
  for (let n = 0; n < 5; n++) times.push(await open("agent:main:api:dm:long", /question (?:49\d\d|5000)[\s\S]*idle/u));
  await engine.close();
  return median(times);
}
