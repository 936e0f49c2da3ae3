/** Sends messages to real processes and returns the traces of messages once the processes are warm. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { FakeTelegram } from "../../test/telegram/fake-telegram.ts";
import { type Trace, type Traces, usualTrace } from "./trace.ts";

const ROOT = join(import.meta.dirname, "../..");
const HOOK = join(import.meta.dirname, "record-hook.ts");
const WARM_MESSAGES = 3;
const RECORDED_MESSAGES = 3;
/** Work for a message continues after its answer: the delivery is marked as sent. */
const QUIET_MS = 250;
const MAX_ROUNDS = 5;
const MAX_WAIT_MS = 60_000;
const TOKEN = "walk-token-0123456789abcdef";
const BOT_TOKEN = "123456:walk-token";

/** Files that timers run, not messages: they may run by chance while a message is processed. */
const BY_TIME: readonly string[] = ["src/adapters/system/collect-when-idle.ts", "src/core/ports/clock.ts"];

/** All at once: a walk mostly waits for its process. */
export async function walkMessages(): Promise<Traces> {
  const [terminal, http, telegram] = await Promise.all([walkTerminal(), walkHttp(), walkTelegram()]);
  return { terminal, HTTP: http, Telegram: telegram };
}

/** A line of `rookery send --lines`. */
function walkTerminal(): Promise<Trace> {
  return walk(["send", "--lines"], {}, async (child) => {
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return async (text) => {
      child.stdin.write(`${text}\n`);
      if ((await answers.next()).done) throw new Error(`no answer to "${text}"`);
    };
  });
}

/** A request for a chat completion. */
async function walkHttp(): Promise<Trace> {
  const port = await freePort();
  return walk(["serve", "--port", String(port)], {}, async (child) => {
    await once(createInterface({ input: child.stdout }), "line");
    return async (text) => {
      const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "main", user: "ann", messages: [{ role: "user", content: text }] }),
      });
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
      await response.text();
    };
  });
}

/** A private message of the owner, from a server that speaks the Bot API. */
async function walkTelegram(): Promise<Trace> {
  const owner = 7;
  const telegram = await new FakeTelegram({ token: BOT_TOKEN }).start();
  const connectors = { telegram: { token: { env: "BOT_TOKEN" }, apiRoot: telegram.url } };
  const config = { connectors, owner: { accounts: [`telegram:${owner}`] } };
  try {
    return await walk(["serve", "--port", String(await freePort())], config, async () => async (text) => {
      const answers = telegram.textsTo(owner).length;
      telegram.say(owner, text);
      await telegram.until(() => telegram.textsTo(owner).length > answers);
    });
  } finally {
    await telegram.close();
  }
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

async function walk(
  args: readonly string[],
  config: object,
  open: (child: Child) => Promise<(text: string) => Promise<void>>,
): Promise<Trace> {
  const dir = mkdtempSync(join(tmpdir(), "rookery-walk-"));
  const [home, lists] = [join(dir, "home"), join(dir, "lists")];
  for (const path of [home, lists]) mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(home, "rookery.json5"), JSON.stringify({ models: { default: "offline" }, ...config }), {
    mode: 0o600,
  });
  const { PATH, HOME, TMPDIR } = process.env;
  const child = spawn(process.execPath, [join(ROOT, "src/main.ts"), ...args, "--home", home], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      PATH,
      HOME,
      TMPDIR,
      NODE_OPTIONS: `--require ${JSON.stringify(HOOK)} --disable-warning=ExperimentalWarning`,
      NODE_DISABLE_COMPILE_CACHE: "1",
      ROOKERY_WALK: lists,
      ROOKERY_TOKEN: TOKEN,
      BOT_TOKEN,
    },
  });
  try {
    const say = await open(child);
    let taken = 0;
    const tracedSince = async (): Promise<Trace> => {
      await sleep(QUIET_MS);
      const path = join(lists, String(taken++));
      child.kill("SIGUSR2");
      for (const end = performance.now() + MAX_WAIT_MS; !existsSync(path); await sleep(5)) {
        if (child.exitCode !== null || performance.now() > end) throw new Error("The process wrote no list.");
      }
      const trace = JSON.parse(readFileSync(path, "utf8")) as Trace;
      return trace.filter((file) => !BY_TIME.includes(file));
    };
    /** Collects lists until one is empty: on a busy machine a message takes longer. */
    const traced = async (): Promise<Trace> => {
      const parts: Trace[] = [];
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const more = await tracedSince();
        if (more.length === 0) break;
        parts.push(more);
      }
      return parts.flat();
    };
    for (let n = 1; n <= WARM_MESSAGES; n++) await say(`message ${n}`);
    await traced();
    const traces: Trace[] = [];
    for (let n = 1; n <= RECORDED_MESSAGES; n++) {
      await say(`one more message, ${n}`);
      traces.push(await traced());
    }
    return usualTrace(traces);
  } finally {
    const ended = child.exitCode === null ? once(child, "exit") : undefined;
    child.kill("SIGTERM");
    await ended;
    rmSync(dir, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
