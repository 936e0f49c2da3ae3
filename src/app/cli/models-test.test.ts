import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startWire, type Turn, type WireServer } from "../../adapters/models/wire.test-kit.ts";
import { cliHome, runCommand } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const home = cliHome();
let wire: WireServer;
let turn: Turn;

beforeEach(async () => {
  turn = { text: "ready", usage: { input: 12, output: 3 } };
  wire = await startWire("openai-completions", () => turn);
  const model = { contextWindow: 8_192, maxTokens: 2_048, thinking: ["off", "low"], images: true };
  const models = [
    { id: "priced", ...model, cost: { input: 1, output: 4 } },
    { id: "plain", ...model, thinking: ["off"], images: false },
  ];
  const local = { api: "openai-completions", baseUrl: wire.baseUrl, apiKey: { env: "K" }, models };
  const config = { models: { default: "local/priced", fallbacks: ["local/plain"], providers: { local } } };
  writeFileSync(join(home.dir, "rookery.json5"), JSON.stringify(config));
});
afterEach(() => wire.close());

const run = (...argv: readonly string[]) =>
  runCommand(["models", "test", ...argv, "--home", home.dir], { input: "", env: { K: "sk-planted-0123456789" } });

describe("rookery models test", () => {
  it("calls the model in use once, and shows latency, price, window and features", async () => {
    const { code, out, err } = await run();
    expect({ code, err }).toEqual({ code: EXIT.ok, err: "" });
    expect(wire.received).toHaveLength(1);
    expect(wire.received[0]?.body).toMatchObject({ model: "priced", stream: true });
    expect(out.replaceAll(/\d+ ms/gu, "N ms")).toBe(
      [
        "local/priced answered: ready",
        "Latency   N ms to the first word, N ms in all",
        "Tokens    12 in, 3 out",
        "Price     $1/$4 per million; this call $0.000024",
        "Window    8k in, 2k out",
        "Features  thinking off low, images, tools",
        "",
      ].join("\n"),
    );
  });

  it("calls the named model; what is not known is n/a", async () => {
    turn = { text: "ready", usage: { input: 0, output: 0 } };
    const { code, out } = await run("local/plain", "--json");
    expect(code).toBe(EXIT.ok);
    expect(JSON.parse(out)).toMatchObject({
      ...{ model: "local/plain", ok: true, answer: "ready", usage: null, cost: null, price: null },
      ...{ contextWindow: 8_192, maxTokens: 2_048, features: { thinking: ["off"], images: false, tools: true } },
    });
    const text = (await run("local/plain")).out;
    expect(text).toContain("Tokens    n/a\nPrice     n/a; this call n/a\n");
    expect(text).not.toContain("$0");
  });

  it("exits with 1 if the model does not answer, tries no other, and prints no key", async () => {
    turn = { status: 401, body: { error: { message: "bad key sk-planted-0123456789" } } };
    const { code, out, err } = await run();
    expect(code).toBe(EXIT.failure);
    expect(out).toContain(
      "local/priced did not answer: The key for local was refused (401): the environment variable K.",
    );
    expect(out + err).not.toContain("planted");
    expect(wire.received.map(({ body }) => body.model)).toEqual(["priced"]);
  });

  it("refuses an unknown model with the closest one, and calls nothing", async () => {
    const { code, err } = await run("local/plian");
    expect(code).toBe(EXIT.usage);
    expect(err).toContain('There is no model "local/plian". Did you mean "local/plain"?');
    expect(wire.received).toEqual([]);
  });

  it("says that the offline model is not an LLM", async () => {
    const { out } = await run("offline");
    expect(out).toContain("offline answered:");
    expect(out).toContain("not an LLM");
    expect(out).toContain("Window    n/a");
  });
});
