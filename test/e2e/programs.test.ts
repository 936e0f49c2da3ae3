/** Runs every program of the README, the docs and `examples` offline until it ends by itself, and checks its exit code and what it prints. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, readPages } from "../../scripts/docs/pages.ts";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import type { Command } from "../../src/app/cli/command.ts";
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { toNode } from "../../src/app/library/mounts.test-kit.ts";
import type { Program } from "../kit/run-programs.ts";
import { freshDatabase } from "../postgres/shared.ts";

const PACKAGE = new URL("../kit/package-by-name.ts", import.meta.url).href;
const RUNNER = join(import.meta.dirname, "../kit/run-programs.ts");

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

/**
 * Returns the output of each program, in their order. They share a process and what it loads. Rejects, with what was printed, if the exit code is
 * not 0.
 */
async function run(programs: readonly Program[]): Promise<readonly string[]> {
  const args = ["--import", PACKAGE, RUNNER, JSON.stringify(programs)];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    timeout: 120_000,
    killSignal: "SIGKILL",
  });
  expect(stderr).toBe("");
  return stdout.split("\0");
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

/**
 * A block of TypeScript that begins with the path of a file of the sources is a part of them: it is type-checked by
 * `scripts/docs/documentation.test.ts` and tested below. Every other block is a program.
 */
const isPart = (text: string): boolean => text.startsWith("// src/");

const blocks = [...readPages()].flatMap(([page, { blocks: all }]) =>
  all.flatMap(({ language, line, text }) => (language === "ts" ? [{ page, line, text }] : [])),
);
const programs = blocks
  .filter(({ text }) => !isPart(text))
  // One that ends its process cannot share it.
  .map((block) => ({ ...block, exits: block.text.includes("process.exit()") }));
const shared = programs.filter(({ exits }) => !exits);

/** Writes a program of the docs into a file that uses the offline model and the engine of this test. */
function fileOf({ page, line, text }: (typeof programs)[number]): Program {
  const cwd = text.includes("connectRookery") ? dir : mkdtempSync(join(dir, "run-"));
  const file = join(cwd, `${page.replaceAll(/\W/g, "-")}-${line}.ts`);
  const offline = text
    .replaceAll('"anthropic/claude-sonnet-5"', '"offline"')
    .replaceAll(/"\/tmp\/rookery-[\w-]+"/g, '"./data"')
    .replaceAll(/http:\/\/127\.0\.0\.1:7717|https:\/\/agents\.example\.com/g, engineUrl())
    .replaceAll("rk_…", token);
  writeFileSync(file, offline);
  return { file, cwd, env: { ROOKERY_TOKEN: token } };
}

/** The output of the programs in the pages, by words of the program. The others are only run. */
const PRINTED: readonly (readonly [words: string, prints: RegExp])[] = [
  ["buildAgentPeerSessionKey", /^agent:main:telegram:/],
  ["DefaultChatTransport", /api\/chat/],
  ["And tomorrow?", /You said: What is the weather in Rome\?[\s\S]*And tomorrow\?/],
  ["connectRookery", /Hello\.[\s\S]*to my mailbox/],
  ["list.txt", /^application\/octet-stream \d+$/m],
  ["new Hono", /^401\n$/],
  ["crashTool", /^$/],
  ["faultyStore", /^hello\n$/],
  ["type Model", /^hello\n$/],
  ["dentist", /^The dentist is on Friday\.\n$/],
];

describe("programs", () => {
  let printedByExamples: Promise<readonly string[]>;
  let printedByPages: Promise<readonly string[]>;
  beforeAll(() => {
    const examples = Object.entries(EXAMPLES).map(async ([name, { args, env }]) => ({
      file: join(ROOT, "examples", name),
      cwd: dir,
      args,
      env: await env?.(),
    }));
    printedByExamples = Promise.all(examples).then(run);
    printedByPages = run(shared.map(fileOf));
    // A test awaits each of them.
    printedByPages.catch(() => {});
  });

  it("lists every example", () => {
    expect(readdirSync(join(ROOT, "examples"))).toEqual(Object.keys(EXAMPLES));
  });

  it.each(Object.entries(EXAMPLES))("run: examples/%s", async (name, { prints }) => {
    const printed = (await printedByExamples)[Object.keys(EXAMPLES).indexOf(name)];
    if (typeof prints === "string") expect(printed).toBe(prints);
    else expect(printed).toMatch(prints);
  });

  it.each(programs)("run: $page, line $line", async (program) => {
    const printed = program.exits ? (await run([fileOf(program)]))[0] : (await printedByPages)[shared.indexOf(program)];
    expect(printed).toBeDefined();
    for (const [words, prints] of PRINTED) if (program.text.includes(words)) expect(printed).toMatch(prints);
  });

  it("reach the engine that they ask", async () => {
    expect((await engine.mailbox("ann").list()).items).toEqual([]);
    expect((await engine.agent("ann").history()).items.length).toBeGreaterThan(4);
  });
});

it("a command of the docs works", async () => {
  const text = blocks.find((block) => isPart(block.text))?.text ?? "";
  const file = join(dir, "greet.ts");
  const commands = join(ROOT, "src/app/cli/commands");
  writeFileSync(
    file,
    text.replaceAll(/from "(\.[^"]+)"/g, (_, from: string) => `from ${JSON.stringify(join(commands, from))}`),
  );
  const { greetCommand } = (await import(file)) as { greetCommand: Command };
  const registry = { greet: { summary: greetCommand.summary, load: async () => greetCommand } };
  expect(await runCommand(["greet", "ann", "--loud"], { registry })).toMatchObject({ code: 0, out: "HELLO ann\n" });
});
