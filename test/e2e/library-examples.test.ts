/** Runs each example of the library and each program of its page in this process, offline, and compares what it prints. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { readPages } from "../../scripts/docs/pages.ts";
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

describe("docs/library.md", () => {
  // In the repository, so that the programs find its packages.
  const dir = mkdtempSync(join(import.meta.dirname, ".programs-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const home = join(dir, "data");

  /** The program with the offline model, in a home of its own. */
  async function run(name: string, program: string): Promise<string> {
    const file = join(dir, `${name}.ts`);
    writeFileSync(
      file,
      program.replaceAll('"anthropic/claude-sonnet-5"', '"offline"').replaceAll('"./data"', JSON.stringify(home)),
    );
    return printed(() => import(file));
  }
  const programs = (readPages().get("docs/library.md")?.blocks ?? []).filter(({ language }) => language === "ts");
  const connects = (text: string): boolean => text.includes("connectRookery");

  it.each(programs.filter(({ text }) => !connects(text)))("runs the program in line $line", async ({ line, text }) => {
    await run(`line-${line}`, text);
  });

  it("uses an engine in another process", async () => {
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
