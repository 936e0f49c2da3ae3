/** Runs each example of the library and each program of its page in this process, offline, and compares what it prints. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { readPages } from "../../scripts/docs/pages.ts";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import type { Command } from "../../src/app/cli/command.ts";
import { createRookery } from "../../src/app/library/create-rookery.ts";
import { toNode } from "../../src/app/library/mounts.test-kit.ts";
import { freshDatabase } from "../postgres/shared.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

async function printed(load: () => Promise<unknown>): Promise<string> {
  let text = "";
  vi.spyOn(console, "log").mockImplementation((...parts: unknown[]) => {
    text += `${parts.join(" ")}\n`;
  });
  vi.spyOn(process.stdout, "write").mockImplementation((piece) => {
    text += String(piece);
    return true;
  });
  await load();
  vi.restoreAllMocks();
  return text;
}

it("examples/chat.ts asks and streams", async () => {
  const text = await printed(() => import("../../examples/chat.ts"));
  expect(text).toContain("You said: What is the weather in Rome?");
  expect(text).toContain("You said: And tomorrow?");
});

it("examples/crash-test.ts proves a tool against every crash", async () => {
  const text = await printed(() => import("../../examples/crash-test.ts"));
  expect(text).toMatch(
    /^\d\d crashes, [1-9]\d* repeated calls\nno payment was made twice, every message was answered once\n$/,
  );
});

it("examples/connector.ts answers a message of its channel", async () => {
  expect(await printed(() => import("../../examples/connector.ts"))).toBe("Sunny in Rome.\n");
});

it("examples/mailbox.ts hears its agent and acknowledges", async () => {
  expect(await printed(() => import("../../examples/mailbox.ts"))).toBe("to ann: The report is ready.\n0 left\n");
});

it("examples/webhook.ts is a channel in ten lines", async () => {
  expect(await printed(() => import("../../examples/webhook.ts"))).toBe("to bob: Sunny in Rome.\n");
});

it("examples/nightly.ts runs its job and shows the report", async () => {
  const text = await printed(() => import("../../examples/nightly.ts"));
  expect(text).toContain("1 run, and the agent said:\n12 new orders, nothing is stuck.");
});

it("examples/thousand.ts answers each user by its own agent", async () => {
  vi.stubEnv("COUNT", "50");
  expect(await printed(() => import("../../examples/thousand.ts"))).toBe("50 of 50 agents answered their own user\n");
});

it("examples/two-nodes.ts accepts a message once at two engines", async () => {
  vi.stubEnv("STORE", await freshDatabase());
  expect(await printed(() => import("../../examples/two-nodes.ts"))).toBe("accepted once\nhello\n");
});

describe("the programs of the pages", () => {
  // In the repository, so that the programs find its packages.
  const dir = mkdtempSync(join(import.meta.dirname, ".programs-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const home = join(dir, "data");

  /** The program with the offline model, in a home of its own. */
  async function run(name: string, program: string): Promise<string> {
    const file = join(dir, `${name}.ts`);
    writeFileSync(
      file,
      program
        .replaceAll('"anthropic/claude-sonnet-5"', '"offline"')
        .replaceAll(/"\.\/data"|"\/tmp\/rookery-[\w-]+"/g, JSON.stringify(home)),
    );
    return printed(() => import(file));
  }
  const programs = [...readPages()].flatMap(([page, { blocks }]) =>
    blocks.flatMap(({ language, line, text }) => (language === "ts" ? [{ page, line, text }] : [])),
  );
  /** Programs that need something beside them, each with a test of its own. */
  const connects = (text: string): boolean => text.includes("connectRookery");
  const asksGateway = (text: string): boolean => text.includes("new OpenAI(");
  const isCommand = (text: string): boolean => text.startsWith("// src/app/cli/commands/");
  const alone = programs.filter(({ text }) => !connects(text) && !asksGateway(text) && !isCommand(text));

  it("are all run", () => {
    expect(programs.length - alone.length).toBe(3);
    expect(new Set(programs.map(({ page }) => page)).size).toBeGreaterThan(3);
  });

  it.each(alone)("run: $page, line $line", async ({ page, line, text }) => {
    await run(`${page.replaceAll(/\W/g, "-")}-${line}`, text);
  });

  it("add a command that works", async () => {
    const text = programs.find((one) => isCommand(one.text))?.text ?? "";
    const file = join(dir, "greet.ts");
    const commands = join(import.meta.dirname, "../../src/app/cli/commands");
    writeFileSync(
      file,
      text.replaceAll(/from "(\.[^"]+)"/g, (_, from: string) => `from ${JSON.stringify(join(commands, from))}`),
    );
    const { greetCommand } = (await import(file)) as { greetCommand: Command };
    const registry = { greet: { summary: greetCommand.summary, load: async () => greetCommand } };
    expect(await runCommand(["greet", "ann", "--loud"], { registry })).toMatchObject({ code: 0, out: "HELLO ann\n" });
  });

  it("ask a gateway with the official client", async () => {
    const { text = "" } = programs.find((one) => asksGateway(one.text)) ?? {};
    await using engine = await createRookery({ home: "memory", model: "offline", env: {} });
    const asked: string[] = [];
    const server = createServer((incoming, outgoing) => {
      asked.push(`${incoming.method} ${incoming.url}`);
      void toNode(engine.fetch)(incoming, outgoing);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    await engine.fetch(new Request("http://localhost/health"));
    vi.stubEnv("ROOKERY_TOKEN", readFileSync(join(engine.home, "token"), "utf8").trim());
    await run(
      "openai",
      text.replace("http://127.0.0.1:7717", `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
    expect(asked).toEqual(["POST /v1/chat/completions"]);
    expect((await engine.agent("ann").history()).items.length).toBeGreaterThan(2);
    server.closeAllConnections();
    server.close();
  });

  it("use an engine in another process", async () => {
    const [program] = programs.filter(({ text }) => connects(text));
    const engine = await createRookery({ home, model: "offline", env: {} });
    const server = createServer(toNode(engine.fetch)).listen(0, "127.0.0.1");
    await once(server, "listening");
    await engine.agent("ann").send("to my mailbox", { mailbox: true });
    await engine.settled();
    await engine.fetch(new Request("http://localhost/health"));
    const token = readFileSync(join(home, "token"), "utf8").trim();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const text = program?.text.replace("https://agents.example.com", url).replace("rk_…", token) ?? "";
    const said = await run("connects", text);
    expect(said).toContain("Hello.");
    expect(said).toContain("to my mailbox");
    expect((await engine.mailbox("ann").list()).items).toEqual([]);
    server.closeAllConnections();
    server.close();
    await engine.close();
  });
});
