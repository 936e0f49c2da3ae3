/** The effects of a reload on a running engine: rules hold at once, work under way continues, a bad file changes nothing. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type PeerCertificate } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { ReloadReport } from "../../src/app/gateway/routing/gateway-context.ts";
import { type Serving, serve } from "../../src/app/library/serve.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import { needs } from "../kit/needs.ts";
import { echo, type FakeModel, fakeModel, type ModelCall, TOKEN } from "./serving.ts";

const env = { ROOKERY_TOKEN: TOKEN, K: "k", L: "l" };
let home: string;
let model: FakeModel;
let serving: Serving;

beforeAll(async () => {
  model = await fakeModel();
  await open();
});
afterAll(async () => {
  await close();
  await model.close();
});
beforeEach(() => {
  model.script = echo;
  model.calls.length = 0;
});

const file = (): string => join(home, "rookery.json5");
const text = (more: object): string => {
  const local = {
    api: "openai-completions",
    baseUrl: `http://127.0.0.1:${model.port}/v1`,
    apiKey: { env: "K" },
    models: [{ id: "fake" }, { id: "other" }],
  };
  return JSON.stringify({ models: { default: "local/fake", providers: { local } }, ...more }, undefined, 2);
};
async function open(config = text({}), given: Readonly<Record<string, string>> = env): Promise<void> {
  home = mkdtempSync(join(tmpdir(), "rookery-effects-"));
  writeFileSync(file(), config);
  const parsed = parseConfig({ text: config, file: "x", env: given });
  const onFatal = (error: unknown): never => expect.unreachable(String(error));
  serving = await serve({ paths: homePaths(home), config: parsed.config, env: given, port: 0, onFatal });
}
async function close(): Promise<void> {
  await serving.close();
  rmSync(home, { recursive: true, force: true });
}
/** An engine of the test's own, for what a reload cannot change. */
async function openOther(config: string, given?: Readonly<Record<string, string>>): Promise<void> {
  const shared = { home, serving };
  await open(config, given);
  onTestFinished(async () => {
    await close();
    ({ home, serving } = shared);
  });
}
/** The shared engine with this configuration. */
async function start(more: object = {}): Promise<void> {
  expect((await reload(more)).needsRestart).toEqual([]);
}
async function ask(path: string, body?: object): Promise<{ status: number; json: Record<string, unknown> }> {
  const response = await fetch(`${serving.gateway.url}${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}
/** At once after the write: the process also reads a changed file by itself, a moment later. */
async function reload(more: object): Promise<ReloadReport> {
  writeFileSync(file(), text(more));
  return serving.reload();
}
const say = (content: string, user = "ann") =>
  ask("/v1/chat/completions", { model: "main", user, messages: [{ role: "user", content }] });
const toolsOf = (call: ModelCall | undefined): readonly string[] =>
  ((call?.body as { tools?: { function: { name: string } }[] } | undefined)?.tools ?? []).map(
    (tool) => tool.function.name,
  );

/** The model calls a tool once, then says what it got. */
const callTool =
  (name: string, input: object) =>
  (call: ModelCall): void => {
    const last = call.body.messages.at(-1);
    if (last?.role === "tool") {
      call.say(`got ${JSON.stringify(last.content)}`);
      call.end();
      return;
    }
    const chunk = (choice: object): void => {
      const choices = [{ index: 0, ...choice }];
      call.response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices })}\n\n`);
    };
    const made = { name, arguments: JSON.stringify(input) };
    chunk({ delta: { tool_calls: [{ index: 0, id: "c1", type: "function", function: made }] }, finish_reason: null });
    chunk({ delta: {}, finish_reason: "tool_calls" });
    call.response.end("data: [DONE]\n\n");
  };

/** Holds the model's calls until they are let go. */
function hold(): { readonly held: ModelCall[]; release(): void } {
  const held: ModelCall[] = [];
  model.script = (call) => void held.push(call);
  return {
    held,
    release() {
      model.script = echo;
      for (const call of held.splice(0)) echo(call);
    },
  };
}
const until = (what: () => boolean): Promise<void> => expect.poll(what, { interval: 5 }).toBe(true);

describe("a rule that is reloaded holds at once", () => {
  it("a denied tool is neither listed nor executed, also in an agent that used it before and in a run under way", async () => {
    await start();
    model.script = callTool("write", { path: "a.txt", content: "x" });
    expect(JSON.stringify((await say("write")).json)).not.toMatch(/unknown|not available|no tool/i);
    expect(toolsOf(model.calls[0])).toContain("write");
    // A run under way: its model was offered the tool before the reload, and calls it after.
    const waiting = hold();
    const running = say("write again");
    await until(() => waiting.held.length === 1);
    expect(toolsOf(waiting.held[0])).toContain("write");
    expect(await reload({ profiles: { main: { tools: { deny: ["write"] } } } })).toMatchObject({
      reloaded: ["profiles.main.tools.deny"],
      needsRestart: [],
    });
    const denied = callTool("write", { path: "b.txt", content: "x" });
    model.script = denied;
    for (const call of waiting.held) denied(call);
    await running;
    expect(() => readFileSync(join(home, "workspace", "b.txt"))).toThrow("ENOENT");
    model.script = echo;
    await say("again");
    expect(toolsOf(model.calls.at(-1))).not.toContain("write");
    await reload({});
    await say("once more");
    expect(toolsOf(model.calls.at(-1))).toContain("write");
  });

  it.each([
    ["for all profiles", { permissions: { deny: ["write(**)"] } }],
    ["for one profile", { profiles: { main: { permissions: { deny: ["write(**)"] } } } }],
  ])("a permission rule %s denies the next call, and allows it again when it is removed", async (which, rules) => {
    await start({ permissions: { allow: ["read(**)"] }, profiles: { main: { permissions: { allow: ["read(**)"] } } } });
    const writes = async (when: string): Promise<boolean> => {
      const name = `${which.replaceAll(" ", "-")}-${when}.txt`;
      model.script = callTool("write", { path: name, content: "x" });
      await say(`write ${name}`);
      // In the directory of its person.
      return readdirSync(home, { recursive: true }).some((path) => path.toString().endsWith(name));
    };
    expect(await writes("before")).toBe(true);
    await reload(rules);
    expect(await writes("denied")).toBe(false);
    await reload({});
    expect(await writes("after")).toBe(true);
  });

  it("a budget refuses the next run, and lets it run again when it is raised", async () => {
    await start();
    expect((await say("one")).status).toBe(200);
    expect(await reload({ budgets: { agent: { tokens: 1 } } })).toMatchObject({ reloaded: ["budgets.agent.tokens"] });
    expect((await say("two")).status).not.toBe(200);
    await reload({ budgets: { agent: { tokens: 10_000_000 } } });
    expect((await say("three")).status).toBe(200);
  });

  it("queue.dedupe and queue.mode decide about messages that wait, also if they came before", async () => {
    await start({ queue: { mode: "queue", debounceMs: 0 } });
    await say("first");
    const waiting = hold();
    const running = say("slow");
    await until(() => waiting.held.length === 1);
    const agent = encodeURIComponent("agent:main:api:dm:ann");
    for (const _ of [1, 2, 3]) await ask(`/api/agents/${agent}/messages`, { text: "same" });
    await reload({ queue: { mode: "collect", debounceMs: 0, dedupe: "prompt" } });
    waiting.release();
    await running;
    await serving.node.agents.settled();
    const { json } = await ask(`/api/agents/${agent}/messages`);
    const states = (json.items as { state: string; text?: string }[]).map(({ state }) => state);
    expect(states.filter((state) => state === "dropped")).toHaveLength(2);
  });

  it("prompt, model, key and limits of the next run are the new ones", async () => {
    await start();
    await say("one");
    const provider = JSON.parse(text({})).models.providers.local;
    await reload({
      models: { default: "local/other", providers: { local: { ...provider, apiKey: { env: "L" } } } },
      profiles: { main: { prompt: "You are new." } },
    });
    await say("two");
    const [before, after] = [model.calls[0], model.calls.at(-1)];
    expect(before?.body).toMatchObject({ model: "fake" });
    expect(after?.body).toMatchObject({ model: "other" });
    expect(JSON.stringify(after?.body.messages[0])).toContain("You are new.");
    expect(after?.response.req.headers.authorization).toBe("Bearer l");
  });

  it("a lane that grows admits the runs that wait", async () => {
    await start({ runs: { maxConcurrent: 1 } });
    const waiting = hold();
    const answers = ["a", "b", "c"].map((user) => say("hello", user));
    await until(() => serving.node.agents.lanes.counts().main.waiting === 2);
    await reload({ runs: { maxConcurrent: 3 } });
    await until(() => waiting.held.length === 3);
    waiting.release();
    for (const answer of answers) expect((await answer).status).toBe(200);
  });

  it("writes the lines of the new level", async () => {
    await start();
    const log = () => readFileSync(join(home, "logs", "rookery.log"), "utf8");
    serving.node.ports.log.debug("before the reload");
    await reload({ log: { level: "debug" } });
    serving.node.ports.log.debug("after the reload");
    expect(log()).not.toContain("before the reload");
    expect(log()).toContain("after the reload");
  });

  it("another certificate is used at once", needs("openssl"), async () => {
    const made = mkdtempSync(join(tmpdir(), "rookery-tls-"));
    onTestFinished(() => rmSync(made, { recursive: true }));
    const make = (name: string) => {
      const [key, cert] = [join(made, `${name}.key`), join(made, `${name}.pem`)];
      const how = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
      execFileSync("openssl", [...how, "-subj", `/CN=${name}`, "-keyout", key, "-out", cert], { stdio: "ignore" });
      return { cert, key };
    };
    const [first, second] = [make("first"), make("second")];
    await openOther(text({ gateway: { tls: first } }));
    const shown = () =>
      new Promise<PeerCertificate>((resolve, reject) => {
        const socket = connect({ port: serving.gateway.port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
          resolve(socket.getPeerCertificate());
          socket.destroy();
        });
        socket.on("error", reject);
      });
    expect((await shown()).subject.CN).toBe("first");
    writeFileSync(file(), text({ gateway: { tls: second } }));
    expect((await serving.reload()).reloaded).toEqual(["gateway.tls.cert", "gateway.tls.key"]);
    expect((await shown()).subject.CN).toBe("second");
    // Files that do not belong together change nothing.
    writeFileSync(file(), text({ gateway: { tls: { cert: first.cert, key: second.key } }, log: { level: "debug" } }));
    await expect(serving.reload()).rejects.toMatchObject({ code: "config" });
    expect(serving.node.settings.current.log.level).toBe("info");
    expect((await shown()).subject.CN).toBe("second");
    // Without TLS the server would answer in plain text: that needs a restart.
    writeFileSync(file(), text({}));
    expect((await serving.reload()).needsRestart).toEqual(["gateway.tls.cert", "gateway.tls.key"]);
    expect((await shown()).subject.CN).toBe("second");
  });
});

describe("a file that cannot be used", () => {
  const BAD: readonly (readonly [string, string, RegExp])[] = [
    ["a syntax error", '{\n  log: { level: "debug" },\n  queue: {\n', /rookery\.json5:4:1: not valid JSON5/],
    [
      "a wrong value",
      '{\n  log: { level: "debug" },\n  runs: { maxConcurrent: "many" },\n}',
      /:3:\d+: runs\.maxConcurrent: expected/,
    ],
    [
      "two wrong values",
      '{\n  runs: { maxConcurrent: 0 },\n  queue: { mode: "x" } }',
      /:3:\d+: queue\.mode.*\n.*:2:\d+: runs\.maxConcurrent/,
    ],
    ["not an object", "[1]", /rookery\.json5:1:1: /],
    [
      "a workspace that cannot be made",
      '{ profiles: { w: { workspace: "/dev/null/x" } } }',
      /workspace .* cannot be created/,
    ],
  ];

  it("answers 400 with line and reason, and the configuration in force stays in force", async () => {
    await start({ profiles: { main: { tools: { deny: ["write"] } } } });
    for (const [what, bad, says] of BAD) {
      writeFileSync(file(), bad);
      const { status, json } = await ask("/api/config/reload", {});
      expect(status, what).toBe(400);
      expect(json, what).toMatchObject({ error: { code: "config", type: "invalid_request_error" } });
      expect((json.error as { message: string }).message, what).toMatch(says);
      expect(serving.node.settings.current.log.level, what).toBe("info");
      expect(serving.node.settings.current.profiles.main?.tools?.deny, what).toEqual(["write"]);
      expect((await say("still here")).status, what).toBe(200);
      expect(toolsOf(model.calls.at(-1)), what).not.toContain("write");
    }
    await reload({ log: { level: "debug" } });
    expect(serving.node.settings.current.log.level).toBe("debug");
  });

  it("a file that is missing or empty, as between two steps of its replacement, lifts no rule", async () => {
    await start({ profiles: { main: { tools: { deny: ["write"] } } } });
    const refused = async () => {
      const { status, json } = await ask("/api/config/reload", {});
      return `${status} ${(json.error as { message: string }).message}`;
    };
    writeFileSync(file(), "\n");
    expect(await refused()).toMatch(/^400 .* is empty/);
    unlinkSync(file());
    expect(await refused()).toMatch(/^400 .* is missing/);
    await say("hello");
    expect(toolsOf(model.calls.at(-1))).not.toContain("write");
  });

  it("proxies that make an open address safe cannot be removed", async () => {
    const more = { gateway: { host: "0.0.0.0", trustedProxies: ["10.0.0.1"], allowedHosts: ["127.0.0.1"] } };
    await openOther(text(more), { ...env, ROOKERY_TOKEN: "x".repeat(40) });
    writeFileSync(file(), text({ gateway: { ...more.gateway, trustedProxies: [] } }));
    await expect(serving.reload()).rejects.toMatchObject({ code: "config" });
    expect(serving.node.settings.current.gateway.trustedProxies).toEqual(["10.0.0.1"]);
  });
});

describe("reloads under way", () => {
  it("a run under way ends as it would have, over any number of reloads at once", async () => {
    await start();
    const waiting = hold();
    const running = say("slow");
    await until(() => waiting.held.length === 1);
    const reports = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const next = join(home, `next-${n}`);
        writeFileSync(next, text({ runs: { maxConcurrent: 10 + n }, profiles: { [`p${n}`]: {} } }));
        renameSync(next, file());
        return ask("/api/config/reload", {});
      }),
    );
    for (const { status, json } of reports) expect(status, JSON.stringify(json)).toBe(200);
    // The file says the same from here on: another reload changes nothing.
    expect((await serving.reload()).changed).toEqual([]);
    const { runs, profiles } = parseConfig({ text: readFileSync(file(), "utf8"), file: "x", env }).config;
    expect(serving.node.settings.current.runs.maxConcurrent).toBe(runs.maxConcurrent);
    expect(Object.keys(serving.node.settings.current.profiles)).toEqual(Object.keys(profiles));
    expect(serving.node.agents.lanes.counts().main.size).toBe(runs.maxConcurrent);
    waiting.release();
    expect(JSON.stringify((await running).json)).toContain("echo: slow");
  });

  it("says again at each reload which keys need a restart, until the file has the old value again", async () => {
    await start();
    const changed = { gateway: { port: 9_999 } };
    for (const _ of [1, 2])
      expect(await reload(changed)).toMatchObject({ needsRestart: ["gateway.port"], reloaded: [] });
    expect(await reload({})).toEqual({ changed: [], reloaded: [], needsRestart: [] });
  });
});
