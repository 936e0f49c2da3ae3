/** A real `rookery serve` whose provider refuses a key: who names it, and what makes the engine try it again. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startWire, type Turn, type WireServer } from "../../src/adapters/models/wire.test-kit.ts";
import { type CommandResult, runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { EXIT } from "../../src/app/cli/exit-code.ts";
import { api, type Served, serve } from "./serving.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const REFUSED: Turn = { status: 401, body: { error: { message: "invalid x-api-key" } } };
const READY: Turn = { text: "ready", usage: { input: 12, output: 3 } };

let wire: WireServer;
let served: Served;
/** The requests before this test. */
let before: number;
let answers: (key: string | undefined) => Turn;

beforeAll(async () => {
  wire = await startWire("openai-completions", ({ headers }) => answers(headers.authorization));
  served = await serve({ port: Number(new URL(wire.baseUrl).port) });
});
/** A reload ends the pause of the key, and an answer resets how long the next one is. */
beforeEach(async () => {
  answers = () => READY;
  await api(served, "/api/config/reload", { method: "POST" });
  expect(await say("hello")).toBe("ready");
  answers = () => REFUSED;
  before = wire.received.length;
});
afterAll(async () => {
  await served.stop();
  await wire.close();
});

const requests = () => wire.received.slice(before);

/** The replies to a text at the terminal. */
async function say(text: string): Promise<string> {
  const sent = (await api(served, "/api/terminal/messages", { method: "POST", body: { text } })) as {
    messages: readonly { agentId: string; seq: number }[];
  };
  const [{ agentId, seq } = expect.unreachable()] = sent.messages;
  const answer = await api(served, `/api/terminal/messages/${agentId}/${seq}?waitSeconds=60`);
  return (answer as { replies: readonly { text: string }[] }).replies.map((reply) => reply.text).join("\n");
}

/** Runs a command while the engine runs. Its own environment has no key. */
const command = (...argv: readonly string[]): Promise<CommandResult> =>
  runCommand([...argv, "--home", served.home], { input: "" });

/** Runs a command as a process of its own, and returns what it prints. */
async function rookery(...argv: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...argv, "--home", served.home]);
  return stdout;
}

describe("a refused key", () => {
  it("is named by the answer, status and doctor, and is not called again before its pause is over", async () => {
    for (const text of ["hello", "anyone there?"]) {
      const reply = await say(text);
      expect(reply).toContain("The key for local was refused (401): the environment variable K.");
      expect(reply).toContain("It is tried again in 1 min.");
      expect(reply).toContain("Run `rookery models keys add local` to replace it");
    }
    expect(requests()).toHaveLength(1);
    expect((await command("status")).out).toContain("The key for local was refused (401)");
    const doctor = await command("doctor");
    expect(doctor.code).toBe(EXIT.failure);
    expect(doctor.out).toContain("The key for local was refused (401): the environment variable K.");
    expect(await say("/status")).toContain("The key for local was refused (401)");
  });

  it("shows the failed message in history and inbox --failed, to which status points", async () => {
    await say("what fails?");
    const status = await rookery("status");
    expect(status).toMatch(/Failed +\d+ messages in a day: `.*inbox --failed/);
    const failed = await rookery("agents", "inbox", "--failed");
    expect(failed.split("\n")[0]).toMatch(/failed +main \d+: what fails\? \(.*was refused \(401\).*\) +run /);
    const history = await rookery("sessions", "show", "main", "--limit", "2");
    expect(history).toMatch(
      /user +what fails\?\n.*no answer +message \d+ "what fails\?" failed: .*was refused \(401\)/,
    );
    const json = JSON.parse(await rookery("sessions", "show", "main", "--limit", "2", "--json")) as {
      items: readonly { unanswered?: readonly object[] }[];
    };
    const outcome = { text: "what fails?", state: "failed", reason: expect.stringContaining("(401)") };
    expect(json.items.flatMap(({ unanswered = [] }) => unanswered)).toMatchObject([outcome]);
    expect(JSON.parse(await rookery("agents", "inbox", "--failed", "--limit", "1", "--json"))).toMatchObject({
      items: [outcome],
    });
    expect((await command("agents", "inbox")).err).toContain("Name an agent, or use --failed alone.");
  });

  it("is tried again by models test, and then by messages", async () => {
    await say("hello");
    const failed = await command("models", "test");
    expect(failed.code).toBe(EXIT.failure);
    expect(failed.out).toContain("The key for local was refused (401)");
    expect(failed.out).toContain("It is tried again in 2 min.");
    answers = () => READY;
    expect(await say("still there?")).toContain("was refused (401)");
    expect((await command("models", "test")).out).toContain("local/fake answered: ready");
    expect(await say("hello again")).toBe("ready");
    expect(requests()).toHaveLength(4);
    expect((await command("status")).out).not.toContain("refused");
    expect((await command("doctor")).out).not.toContain("refused");
  });

  it("is tried again after a reload, also if the file did not change, and after a restart", async () => {
    await say("hello");
    answers = () => READY;
    await api(served, "/api/config/reload", { method: "POST" });
    expect(await say("hello again")).toBe("ready");
    answers = () => REFUSED;
    expect(await say("and now?")).toContain("was refused (401)");
    served = await served.restart();
    answers = () => READY;
    expect(await say("after the restart")).toBe("ready");
  });

  it("is replaced by the next key of its provider", async () => {
    answers = (key) => (key === "Bearer second" ? READY : REFUSED);
    expect(
      (await runCommand(["models", "keys", "add", "local", "--home", served.home], { input: "second\n" })).code,
    ).toBe(0);
    expect(await say("hello")).toBe("ready");
    expect(await say("hello again")).toBe("ready");
    expect(requests().map(({ headers }) => headers.authorization)).toEqual([
      "Bearer k",
      "Bearer second",
      "Bearer second",
    ]);
    expect((await command("status")).out).toContain("The key for local was refused (401): the environment variable K.");
  });
});
