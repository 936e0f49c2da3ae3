/**
 * Tools that act, in a whole node with real commands and a real server: a digest without a person, the end of a background command, where
 * commands run, denials in other words, and secrets that are planted everywhere and looked for everywhere.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { jsonLog } from "../../adapters/system/json-log.ts";
import { configSchema } from "../../config/config-schema.ts";
import { createHome } from "../../config/create-home.ts";
import { homePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Connector, OutgoingDelivery } from "../../core/ports/connector.ts";
import type { Model, ModelMessage } from "../../core/ports/model.ts";
import type { ApprovalId } from "../../core/rights/approval.ts";
import { exportSession } from "../../engine/context/transcript/export-session.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

const about = { api: "a", provider: "p", model: "m" } as const;
const textOf = (message?: ModelMessage): string =>
  message?.content.map((block) => (block.type === "text" ? block.text : "")).join("\n") ?? "";
const prompts: unknown[] = [];
let calls = 0;

/** `CALL {json}` in the latest words of a person makes the calls one after another; then it tells the last result. */
const model: Model = {
  async call(request) {
    prompts.push(request);
    const { messages } = request;
    const from = messages.findLastIndex(({ role }) => role === "user");
    const wanted = [...textOf(messages[from]).matchAll(/^CALL (\{.*\})$/gmu)].map(([, json]) =>
      JSON.parse(json ?? "{}"),
    );
    const made = messages.slice(from).filter(({ role }) => role === "tool").length;
    const next = wanted[made] as { name: string } | undefined;
    if (!next) {
      const said = made === 0 ? `answer to ${textOf(messages[from])}` : `result: ${textOf(messages.at(-1))}`;
      return { ...about, content: [{ type: "text", text: said }], stopReason: "stop" };
    }
    const { name, ...given } = next;
    const content = [{ type: "toolCall", id: `c${++calls}`, name, arguments: given }];
    return { ...about, content: content as never, stopReason: "tool_calls" };
  },
};

const SECRETS = {
  key: "planted-key-81c0",
  token: "planted-hook-92d1",
  command: "planted-command-a3e2",
  env: "planted-environment-b4f3",
  home: "planted-home-c5a4",
  search: "planted-search-d6b5",
};
const paths = homePaths(mkdtempSync("/tmp/rookery-acting-"));
const env = { PATH: process.env.PATH, PLANTED: SECRETS.env, SEARCH_KEY: SECRETS.search };
const sent: OutgoingDelivery[] = [];
const heard: unknown[] = [];
let stderr = "";
let node: RookeryNode;
const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  response.writeHead(200, { "content-type": "text/html" });
  response.end("<html><head><title>News</title></head><body><p>Bees are back in the valley.</p></body></html>");
});
let page: string;

const channel: Connector = {
  ...{ name: "test", sendingClass: "idempotent", capabilities: { sendText: true } },
  ...{ start: async () => {}, stop: async () => {}, health: () => ({ ok: true, detail: "" }), admit: () => 0 },
  async send(delivery) {
    sent.push(delivery);
    return { status: "sent" };
  },
} as Connector;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  page = `http://127.0.0.1:${port}/news`;
  await createHome(paths);
  const errors = { write: (text: string) => (stderr += text) };
  node = await openNode({
    paths,
    config: configSchema.parse({
      owner: { accounts: ["test:olga"] },
      queue: { debounceMs: 0 },
      models: { providers: { p: { api: "openai-completions", baseUrl: "http://127.0.0.1:9", apiKey: SECRETS.key } } },
      hooks: { deploy: { token: SECRETS.token, prompt: "{{text}}" } },
      network: { allowPrivate: [`127.0.0.1:${port}`] },
      web: { search: { provider: "tavily", url: `http://127.0.0.1:${port}/search`, apiKey: { env: "SEARCH_KEY" } } },
      sandbox: { kind: "bwrap", secrets: { DEPLOY_KEY: SECRETS.command } },
      permissions: {
        allow: [
          { rule: "web(domain:127.0.0.1)", when: "untrusted" },
          "web(domain:127.0.0.1)",
          "exec(true)",
          "exec(echo *)",
          "exec(sleep *)",
        ],
        deny: [{ rule: "exec(git push *)", because: "releases are made by hand" }],
      },
    }),
    connectors: [channel],
    env,
    model,
    log: jsonLog({ file: join(paths.logs, "rookery.log"), level: "debug", errors }),
    onFatal: (error) => expect.unreachable(String(error)),
  });
  node.agents.events.listen((event) => heard.push(event));
});
afterAll(async () => {
  await node.close();
  server.close();
  rmSync(paths.home, { recursive: true, force: true });
});

const DECIDER = { person: OWNER, surface: "test" } as const;
const OLGA: AgentDescriptor = { type: "user", connector: "test", userId: "olga", channelId: "olga" };
const call = (name: string, given: object = {}): string => `CALL ${JSON.stringify({ name, ...given })}`;
interface Said {
  readonly agent: AgentRecord;
  /** The latest entries, the newest first. */
  readonly text: string;
}

/** In a new session, unless it goes `on` in the one before. */
async function say(text: string, on: "new" | "on" = "new"): Promise<Said> {
  const to = { descriptor: OLGA };
  if (on === "new") await node.agents.post({ to, body: { kind: "reset", by: "person" } });
  const posted = await node.agents.post({ to, body: { kind: "user", text } });
  if (posted.status === "stale") throw new TypeError("stale");
  await node.agents.settled();
  const agent = (await node.ports.store.agent(posted.agentId)) as AgentRecord;
  const lines = await node.ports.store.linesBack(agent.id, { limit: 3 });
  return { agent, text: lines.map(({ line }) => line).join("\n") };
}

describe("without a person", () => {
  const digest = async (message: string) => {
    const job = await node.triggers.cron.add({
      ...{ name: "digest", schedule: { kind: "every", everyMs: 3_600_000 } },
      payload: { kind: "agentTurn", message: `The digest:\n${message}`, deliver: true, channel: "test", to: "olga" },
    });
    sent.length = 0;
    asked.length = 0;
    await node.triggers.cron.run(job.id);
    await vi.waitFor(async () => expect((await node.triggers.cron.runs(job.id))[0]?.end).toBeDefined(), 60_000);
    await vi.waitFor(() => expect(sent.length).toBeGreaterThan(0), 60_000);
    return sent.map(({ payload }) => payload.text ?? "").join("\n");
  };

  it("a digest of web pages works with the right rules: it reads two pages and is delivered", {
    timeout: 120_000,
  }, async () => {
    const text = await digest([call("web_fetch", { url: page }), call("web_fetch", { url: `${page}/2` })].join("\n"));
    expect(asked).toEqual(["/news", "/news/2"]);
    expect(text).toContain("Bees are back in the valley.");
  });

  it("what no rule allows is denied, because no one is there to ask", async () => {
    const text = await digest([call("web_fetch", { url: page }), call("exec", { command: "touch made" })].join("\n"));
    expect(text).toContain("no one is there to ask");
    expect(existsSync(join(paths.workspace, "made"))).toBe(false);
    expect(await node.ports.store.approvals({ limit: 10, states: ["pending"] })).toEqual([]);
  });
});

describe("a background command", () => {
  it("wakes its agent when it has ended, with one message, also over a restart", async () => {
    const { agent } = await say(call("exec", { command: "true", background: true }));
    const told = async (): Promise<readonly string[]> =>
      (await node.ports.store.messages(agent.id, { limit: 20 }))
        .map(({ body }) => JSON.stringify(body))
        .filter((body) => body.includes("has ended with exit code 0"));
    await vi.waitFor(async () => expect(await told()).toHaveLength(1), 20_000);
    await node.agents.settled();
    await vi.waitFor(async () => {
      const [answered] = await node.ports.store.linesBack(agent.id, { limit: 1 });
      expect(answered?.line).toContain("answer to ");
      expect(answered?.line).toContain("has ended with exit code 0");
    }, 20_000);
    // The keeper looks every two seconds.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await told()).toHaveLength(1);
  });
});

describe("where a command runs", () => {
  const hidden = mkdtempSync("/tmp/rookery-outside-");
  writeFileSync(join(hidden, "seen"), "seen from the host");
  afterAll(() => rmSync(hidden, { recursive: true }));
  const nodeName = async (): Promise<string> => (await node.ports.store.nodes())[0]?.name ?? "";

  it.each([
    ["sandbox", () => ({}), "No such file"],
    ["gateway", () => ({ execHost: "gateway", execSecurity: "full" }), "seen from the host"],
    [
      "this node",
      async () => ({ execHost: "node", execNode: await nodeName(), execSecurity: "full" }),
      "seen from the host",
    ],
    ["a node that is not known", () => ({ execHost: "node", execNode: "mars", execSecurity: "full" }), "mars"],
    ["elevated", () => ({ elevatedLevel: "full" }), "seen from the host"],
  ])("%s", async (_, settings, expected) => {
    const { agent } = await say("hello");
    const none = { execHost: null, execNode: null, execSecurity: null, elevatedLevel: null };
    await node.agents.sessions.patch(agent.id, { ...none, ...(await settings()) } as never);
    await node.agents.settled();
    const { text } = await say(call("exec", { command: `cat ${hidden}/seen` }), "on");
    await node.agents.sessions.patch(agent.id, none as never);
    expect(text).toContain(expected);
    if (expected !== "seen from the host") expect(text).not.toContain("seen from the host");
  });
});

describe("a denial", () => {
  const PUSH = [
    "git push",
    "git  push origin main",
    "/usr/bin/git push",
    "GIT PUSH",
    "git -C . push",
    "git -c a=b push --force",
    "true && git push",
    "echo x; git push",
    "echo $(git push)",
    "sh -c 'git push'",
    "env git push",
    "g=git; $g push",
    "eval git push",
    "echo push | xargs git",
  ];
  it.each(PUSH)("is not got around by other words: %s", async (command) => {
    const { agent, text } = await say(call("exec", { command }));
    const [run] = await node.ports.store.runs(agent.id, { limit: 1 });
    const started = run?.body.calls.filter(({ state }) => state === "done" || state === "intended") ?? [];
    const results = text.match(/exit code/g) ?? [];
    expect([started.length === 0 || results.length === 0, results]).toEqual([true, []]);
    // Where the words are known, the model reads why.
    if (/^(?:\/usr\/bin\/)?git|&& git|; git/iu.test(command)) expect(text).toContain("releases are made by hand");
  });

  it("of a person holds for the same call in other words: each is asked about again, and none happens", async () => {
    await say("hello");
    for (const command of ["touch pwned", "touch ./pwned", "touch  pwned", "cp /dev/null pwned"]) {
      await say(call("exec", { command }), "on");
      const [open] = await node.ports.store.approvals({ limit: 1, states: ["pending"] });
      expect(open?.tool).toBe("exec");
      await node.agents.approvals.decide(open?.id as ApprovalId, { approve: false, reason: "never" }, DECIDER);
      await node.agents.settled();
    }
    expect(existsSync(join(paths.workspace, "pwned"))).toBe(false);
  });
});

describe("planted secrets", () => {
  it("reach no prompt, history, log, export, database, delivery, event or error", async () => {
    writeFileSync(paths.auth, JSON.stringify({ providers: { other: SECRETS.home } }));
    const attempts = [
      ["read", { path: "../auth.json" }],
      ["read", { path: paths.token }],
      ["grep", { pattern: "planted", path: "." }],
      ["list", { path: ".." }],
      ["find", { pattern: "*.json" }],
      ["exec", { command: `cat ${paths.auth} ${paths.home}/rookery.json5` }],
      ["exec", { command: "echo $PLANTED $DEPLOY_KEY" }],
      ["exec", { command: "cat /proc/self/environ /proc/1/environ" }],
      ["exec", { command: "echo $DEPLOY_KEY", secrets: ["DEPLOY_KEY"] }],
      ["exec", { command: "echo x", secrets: ["NO_SUCH"] }],
      ["web_search", { query: "news" }],
      ["web_fetch", { url: `http://user:${"x"}@127.0.0.1:1/` }],
    ] as const;
    for (const [name, given] of attempts) {
      await say(call(name, given), "on");
      const open = await node.ports.store.approvals({ limit: 5, states: ["pending"] });
      for (const { id } of open) {
        await node.agents.approvals.decide(id, { approve: true }, DECIDER);
        await node.agents.settled();
      }
    }
    // A command that is granted the secret has it; what it shows of it is replaced by the name.
    const { agent } = await say("done", "on");
    const history = await node.ports.store.linesBack(agent.id, { limit: 500 });
    const all = history.map(({ line }) => line).join("\n");
    expect(all).toContain("[DEPLOY_KEY]");
    const exported = inspect(await exportSession(node.ports.store, agent), { maxStringLength: null, depth: 9 });
    const kept = readdirSync(paths.home, { recursive: true, encoding: "utf8" })
      .filter((name) => !/^(auth\.json|token|rookery\.json5)$/.test(name) && statSync(join(paths.home, name)).isFile())
      .map((name) => [name, readFileSync(join(paths.home, name), "latin1")] as const);
    const places: Readonly<Record<string, string>> = {
      prompts: inspect(prompts, { depth: 20, maxStringLength: null, maxArrayLength: null }),
      history: all,
      export: exported,
      events: inspect(heard, { depth: 20, maxStringLength: null, maxArrayLength: null }),
      deliveries: inspect(sent, { depth: 20, maxStringLength: null }),
      stderr,
      configuration: inspect(node.config, { depth: 20 }),
      ...Object.fromEntries(kept),
    };
    const found = Object.entries(places).flatMap(([place, text]) =>
      Object.values(SECRETS).flatMap((secret) => (text.includes(secret) ? `${secret} in ${place}` : [])),
    );
    expect(found).toEqual([]);
    expect(places.history).toContain("exit code");
  });
});
