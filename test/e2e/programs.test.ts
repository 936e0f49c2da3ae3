/**
 * Runs every program of the README, the docs and `examples` as a process of its own, offline, and checks its exit code and what it
 * prints.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileName } from "../../scripts/docs/markdown.ts";
import { ROOT, readPages } from "../../scripts/docs/pages.ts";
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { toNode } from "../../src/app/library/mounts.test-kit.ts";
import { freshDatabase } from "../postgres/shared.ts";

const PACKAGE = new URL("../kit/package-by-name.ts", import.meta.url).href;

// In the repository, so that the programs find its packages.
const dir = mkdtempSync(join(import.meta.dirname, ".programs-"));
const home = join(dir, "data");

/** The engine that some programs ask: over HTTP, and over the control socket of `./data`. */
let engine: Rookery;
let server: Server;
let token: string;
beforeAll(async () => {
  mkdirSync(home);
  engine = await createRookery({ home, model: "offline", env: {} });
  server = createServer(toNode(engine.fetch)).listen(0, "127.0.0.1");
  await once(server, "listening");
  await engine.agent("ann").send("to my mailbox", { mailbox: true });
  await engine.settled();
  await engine.fetch(new Request("http://localhost/health"));
  token = readFileSync(join(home, "token"), "utf8").trim();
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await engine.close();
  rmSync(dir, { recursive: true, force: true });
});

const engineUrl = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Rejects, with what the program printed, if its exit code is not 0. */
async function run(file: string, { args = [], cwd = dir, env = {} }: RunOptions = {}): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--import", PACKAGE, file, ...args], {
    cwd,
    env: { ...process.env, ...env },
    timeout: 120_000,
    killSignal: "SIGKILL",
  });
  expect(stderr).toBe("");
  return stdout;
}

interface RunOptions {
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Example {
  readonly prints: string | RegExp;
  readonly args?: readonly string[];
  readonly env?: () => Promise<Readonly<Record<string, string>>>;
}

const EXAMPLES: Readonly<Record<string, Example>> = {
  "chat.ts": { prints: /You said: What is the weather in Rome\?[\s\S]*You said: And tomorrow\?/ },
  "connector.ts": { prints: "Sunny in Rome.\n" },
  "crash-test.ts": {
    prints: /^\d\d crashes, [1-9]\d* repeated calls\nno payment was made twice, every message was answered once\n$/,
  },
  "mailbox.ts": { prints: "to ann: The report is ready.\n0 left\n" },
  "nightly.ts": { prints: /1 run, and the agent said:\n12 new orders, nothing is stuck\./ },
  "openai-client.ts": {
    prints: /two words/,
    args: ["two words"],
    env: async () => ({ ROOKERY_URL: engineUrl(), ROOKERY_TOKEN: token }),
  },
  "thousand.ts": { prints: "50 of 50 agents answered their own user\n", env: async () => ({ COUNT: "50" }) },
  "two-nodes.ts": { prints: "accepted once\nhello\n", env: async () => ({ STORE: await freshDatabase() }) },
  "webhook.ts": { prints: "to bob: Sunny in Rome.\n" },
};

/** Every block of TypeScript is a program. Commands of its page start one that has a name (`scripts/docs/transcript.test.ts`). */
const programs = [...readPages()].flatMap(([page, { blocks: all }]) =>
  all.flatMap(({ language, line, text }) =>
    language === "ts" && fileName(text) === undefined ? [{ page, line, text }] : [],
  ),
);

/** The output of the programs in the pages, by words of the program. The others are only run. */
const PRINTED: readonly (readonly [words: string, prints: RegExp])[] = [
  ["Weather in Rome?", /weather says: Sunny in Rome\n$/],
  ["buildAgentPeerSessionKey", /^agent:main:telegram:/],
  ["DefaultChatTransport", /api\/chat/],
  ["And tomorrow?", /You said: What is the weather in Rome\?[\s\S]*And tomorrow\?/],
  ["connectRookery", /Hello\.[\s\S]*to my mailbox/],
  ["list.txt", /^application\/octet-stream$/m],
  ["new Hono", /^401\n$/],
  ["crashTool", /^$/],
  ["faultyStore", /^hello\n$/],
  ["type Model", /^hello\n$/],
  ["dentist", /^The dentist is on Friday\.\n$/],
];

describe("programs", () => {
  it("lists every example", () => {
    expect(readdirSync(join(ROOT, "examples"))).toEqual(Object.keys(EXAMPLES));
  });

  it.concurrent.each(Object.entries(EXAMPLES))("run: examples/%s", async (name, { prints, args, env }) => {
    const printed = await run(join(ROOT, "examples", name), { args, env: await env?.() });
    if (typeof prints === "string") expect(printed).toBe(prints);
    else expect(printed).toMatch(prints);
  });

  it.concurrent.each(programs)("run: $page, line $line", async ({ page, line, text }) => {
    const usesEngine = text.includes("connectRookery");
    const cwd = usesEngine ? dir : mkdtempSync(join(dir, "run-"));
    const file = join(cwd, `${page.replaceAll(/\W/g, "-")}-${line}.ts`);
    const offline = text
      .replaceAll('"anthropic/claude-sonnet-5"', '"offline"')
      .replaceAll(/"\/tmp\/rookery-[\w-]+"/g, '"./data"')
      .replaceAll(/http:\/\/127\.0\.0\.1:7717|https:\/\/agents\.example\.com/g, engineUrl())
      .replaceAll("rk_…", token);
    writeFileSync(file, offline);
    const printed = await run(file, { cwd, env: { ROOKERY_TOKEN: token } });
    for (const [words, prints] of PRINTED) if (text.includes(words)) expect(printed).toMatch(prints);
  });

  it("reach the engine that they ask", async () => {
    expect((await engine.mailbox("ann").list()).items).toEqual([]);
    expect((await engine.agent("ann").history()).items.length).toBeGreaterThan(4);
  });
});
