/** Sends messages to a real process and returns the files that a message passes once the process is warm. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

const ROOT = join(import.meta.dirname, "../..");
const HOOK = join(import.meta.dirname, "record-hook.ts");
const WARM_MESSAGES = 3;
const RECORDED_MESSAGES = 3;
/** Work for a message continues after its answer: the delivery is marked as sent. */
const QUIET_MS = 250;
const MAX_ROUNDS = 5;
const MAX_WAIT_MS = 60_000;
const TOKEN = "walk-token-0123456789abcdef";

/** Files that timers run, not messages: they may run by chance while a message is processed. */
const BY_TIME: readonly string[] = ["src/adapters/system/collect-when-idle.ts", "src/core/ports/clock.ts"];

/** The files in the order in which the message reaches them first. */
export type Walk = readonly string[];

export function walkTerminal(): Promise<Walk> {
  return walk(["send", "--lines"], async (child) => {
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return async (text) => {
      child.stdin.write(`${text}\n`);
      if ((await answers.next()).done) throw new Error(`no answer to "${text}"`);
    };
  });
}

export async function walkHttp(): Promise<Walk> {
  const port = await freePort();
  return walk(["serve", "--port", String(port)], async (child) => {
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

type Child = ChildProcessByStdio<Writable, Readable, null>;

async function walk(
  args: readonly string[],
  open: (child: Child) => Promise<(text: string) => Promise<void>>,
): Promise<Walk> {
  const dir = mkdtempSync(join(tmpdir(), "rookery-walk-"));
  const [home, lists] = [join(dir, "home"), join(dir, "lists")];
  for (const path of [home, lists]) mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(home, "rookery.json5"), "{ models: { detect: false } }", { mode: 0o600 });
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
    },
  });
  try {
    const say = await open(child);
    let taken = 0;
    const passedSince = async (): Promise<Walk> => {
      await sleep(QUIET_MS);
      const path = join(lists, String(taken++));
      child.kill("SIGUSR2");
      for (const end = performance.now() + MAX_WAIT_MS; !existsSync(path); await sleep(5)) {
        if (child.exitCode !== null || performance.now() > end) throw new Error("The process wrote no list.");
      }
      return JSON.parse(readFileSync(path, "utf8")) as Walk;
    };
    /** Collects lists until one is empty: on a busy machine a message takes longer. */
    const passed = async (): Promise<Walk> => {
      const files = new Set<string>();
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const more = (await passedSince()).filter((file) => !BY_TIME.includes(file));
        if (more.length === 0) break;
        for (const file of more) files.add(file);
      }
      return [...files];
    };
    for (let n = 1; n <= WARM_MESSAGES; n++) await say(`message ${n}`);
    await passed();
    const walks: Walk[] = [];
    for (let n = 1; n <= RECORDED_MESSAGES; n++) {
      await say(`one more message, ${n}`);
      walks.push(await passed());
    }
    // Work of timers may run during one of the messages, but hardly during all.
    return (walks[0] ?? []).filter((file) => walks.every((other) => other.includes(file)));
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
