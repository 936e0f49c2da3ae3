/**
 * Secrets are planted wherever a secret can be: in the configuration, the environment, the logins, the tokens and the output of
 * commands. A model that obeys an attacker looks for them, every route is asked so that it fails, every command shows what it has.
 * None of them is found anywhere: in no prompt, history, log, export, database, delivery, event, answer or error (L13).
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../../test/kit/needs.ts";
import { writeKey } from "../../adapters/models/auth-file.ts";
import { exportSession } from "../../engine/context/transcript/export-session.ts";
import { openGateway, ROOT_TOKEN } from "../gateway/gateway.test-kit.ts";
import type { Port } from "../gateway/open-port.ts";
import { ROUTES } from "../gateway/route-table.ts";
import type { Route } from "../gateway/routing/route.ts";
import { type ActingWorld, call, openActing, type Said } from "../node/acting.test-kit.ts";
import { runCommand } from "./cli.test-kit.ts";

/** Without a typical form: they are masked because they are known, or because they never get there. */
const SECRETS: Record<string, string> = {
  provider: "planted-key-81c0",
  second: "planted-second-a7d3",
  hook: "planted-hook-92d1",
  signature: "planted-signature-0b12",
  command: "planted-command-a3e2",
  environment: "planted-environment-b4f3",
  login: "planted-login-c5a4",
  search: "planted-search-d6b5",
  variable: "planted-variable-e7c6",
  header: "planted-header-f8d7",
  client: "planted-client-09e8",
  mailbox: "planted-mailbox-1af9",
  speech: "planted-speech-2b0a",
  bot: "planted-bot-3c1b",
  app: "planted-app-4d2c",
  root: ROOT_TOKEN,
};
const ENV = { PLANTED: SECRETS.environment, SEARCH_KEY: SECRETS.search };

const configOf = (port: number) => ({
  models: {
    default: "p/m",
    providers: {
      p: {
        api: "openai-completions",
        baseUrl: "http://127.0.0.1:9",
        apiKey: SECRETS.provider,
        apiKeys: { other: SECRETS.second },
        models: [{ id: "m" }],
      },
    },
  },
  hooks: {
    deploy: { token: SECRETS.hook, prompt: "{{text}}" },
    signed: { hmac: { secret: SECRETS.signature }, prompt: "{{text}}" },
  },
  network: { allowPrivate: [`127.0.0.1:${port}`] },
  web: { search: { provider: "tavily", url: `http://127.0.0.1:${port}/search`, apiKey: { env: "SEARCH_KEY" } } },
  sandbox: { kind: "bwrap", secrets: { DEPLOY_KEY: SECRETS.command } },
  mcp: {
    servers: {
      local: { enabled: false, command: "true", env: { TOKEN: SECRETS.variable } },
      remote: {
        enabled: false,
        url: "http://127.0.0.1:9/mcp",
        headers: { "X-Key": SECRETS.header },
        clientSecret: SECRETS.client,
      },
    },
  },
  mailbox: { webhooks: { crm: { url: "http://127.0.0.1:9/in", secret: SECRETS.mailbox, users: ["ann"] } } },
  files: { transcriber: { url: "http://127.0.0.1:9/v1", model: "whisper", apiKey: SECRETS.speech } },
  connectors: {
    telegram: { enabled: false, token: SECRETS.bot },
    whatsapp: {
      ...{ enabled: false, phoneNumberId: "1", token: SECRETS.bot, appSecret: SECRETS.app },
      webhook: { url: "https://example.org/in", secret: SECRETS.signature },
    },
  },
  permissions: { allow: ["web(domain:127.0.0.1)", "exec(echo *)"] },
});

let world: ActingWorld;
let gateway: Port;
let minted = "";
let last: Said;
beforeAll(async () => {
  let written = "";
  world = await openActing({
    env: ENV,
    config: (port) => {
      const config = configOf(port);
      written = JSON.stringify({ owner: { accounts: ["test:olga"] }, ...config });
      return config;
    },
  });
  const { node, paths } = world;
  writeFileSync(paths.config, written, { mode: 0o600 });
  writeKey(paths.auth, "other", "default", SECRETS.login ?? "");
  gateway = await openGateway({
    ...{ node, settings: node.settings, tokenFile: paths.tokens, control: paths.home },
    reload: async () => ({ changed: [], reloaded: [], needsRestart: [] }),
  });
  const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
  minted = (await gateway.context.tokens.mint(root, { name: "phone", scopes: ["admin"] })).token;
  SECRETS.token = minted;
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

/** Which secrets stand in these texts, and where. */
const foundIn = (places: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(places).flatMap(([place, text]) =>
    Object.entries(SECRETS).flatMap(([name, secret]) => (text.includes(secret) ? `${name} in ${place}` : [])),
  );
const whole = (value: unknown): string => inspect(value, { depth: 20, maxStringLength: null, maxArrayLength: null });

it(
  "are not in what a model that looks for them sees and does, with every question answered yes",
  needs("bwrap"),
  async () => {
    const { paths, node, say } = world;
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
      await world.approveAll();
    }
    last = await say("done", "on");
    const history = (await node.ports.store.linesBack(last.agent.id, { limit: 500 }))
      .map(({ line }) => line)
      .join("\n");
    // A command that is granted the secret has it; what it shows of it is replaced by the name.
    expect(history).toContain("[DEPLOY_KEY]");
    expect(history).toContain("exit code");
    expect(world.asked).toContain("/search");
    const exported = whole(await exportSession(node.ports.store, last.agent));
    const { prompts, events, sent, stderr } = world;
    const places = { prompts, events, deliveries: sent, configuration: node.settings.current };
    const shown = Object.fromEntries(Object.entries(places).map(([name, value]) => [name, whole(value)]));
    expect(foundIn({ history, exported, stderr: stderr(), ...shown })).toEqual([]);
  },
);

/** Sends a request and reads its answer; of a stream of events only the beginning. */
function ask(route: Pick<Route, "method">, path: string, body: string | undefined, token: string | undefined) {
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
    const sending = request(
      { host: "127.0.0.1", port: gateway.port, method: route.method, path, headers },
      (answer) => {
        let text = JSON.stringify(answer.headers);
        const done = (): void => resolve({ status: answer.statusCode ?? 0, text });
        answer.setEncoding("utf8");
        answer.on("data", (piece: string) => {
          text += piece;
        });
        for (const end of ["end", "close", "error"]) answer.on(end, done);
        // A stream of events goes on until its reader leaves. What was sent before is read first.
        if (answer.headers["content-type"]?.includes("event-stream")) setImmediate(() => sending.destroy());
      },
    );
    sending.on("error", reject);
    sending.end(body);
  });
}

const PARAMS: Readonly<Record<string, string>> = { run: "00000000-0000-7000-8000-000000000000", seq: "1" };
const pathOf = ({ path }: Route): string => path.replace(/:(\w+)/gu, (_, name: string) => PARAMS[name] ?? "nothing");

/** A body with a secret where numbers are expected, and in fields that no one knows. */
const withSecrets = (example: object = {}): object => ({
  ...Object.fromEntries(
    Object.entries(example).map(([key, value]) => [
      // The id of a call is told to its caller again.
      ...[key, typeof value === "number" && key !== "id" ? SECRETS.login : value],
    ]),
  ),
  apiKey: SECRETS.provider,
});

/** Ways to ask a route so that it fails, or answers what it has. */
const ASKED: Readonly<Record<string, (route: Route) => readonly [path: string, body?: string, token?: string]>> = {
  "its example": (route) => [pathOf(route), route.example && JSON.stringify(route.example)],
  "an empty body": (route) => [pathOf(route), "{}"],
  "a broken body": (route) => [pathOf(route), `{"apiKey": ${JSON.stringify(SECRETS.provider)}, `],
  "secrets as values": (route) => [pathOf(route), JSON.stringify(withSecrets(route.example))],
  "a wrong query": (route) => [`${pathOf(route)}?limit=-1&before=x&${"q".repeat(40)}=1`],
  "a wrong token": (route) => [pathOf(route), undefined, "wrong"],
  "a parameter that is no name": (route) => [route.path.replace(/:\w+/gu, "%00%2e%2e%2fauth.json")],
};

const routes = ROUTES.filter(({ path }) => !path.includes("*")).map(
  (route) => [`${route.method} ${route.path}`, route] as const,
);

/** Asks every route in this way. */
async function askAll(
  wayOf: (typeof ASKED)[string],
  asked = routes,
): Promise<{ answers: Record<string, string>; failed: number }> {
  const answers: Record<string, string> = {};
  let failed = 0;
  for (const [name, route] of asked) {
    const [path, body, token = ROOT_TOKEN] = wayOf(route);
    // A file is kept as it is.
    if (route.bodyType !== undefined) continue;
    const { status, text } = await ask(route, path, route.method === "GET" ? undefined : body, token);
    answers[name] = text;
    if (status >= 400) failed += 1;
  }
  return { answers, failed };
}

describe("are in no answer of a route", () => {
  it.each(Object.entries(ASKED))("that is asked with %s", async (_, wayOf) => {
    const { answers, failed } = await askAll(wayOf);
    expect(foundIn(answers)).toEqual([]);
    expect(failed).toBeGreaterThan(20);
  });

  it("that gets a configuration with a mistake", async () => {
    const text = JSON.stringify({ models: { providers: { p: { apiKey: SECRETS.second, bogus: SECRETS.provider } } } });
    const sent = JSON.stringify({ file: "rookery.json5", text });
    const { status, text: answer } = await ask({ method: "POST" }, "/api/changes", sent, ROOT_TOKEN);
    expect(status).toBe(400);
    expect(foundIn({ answer })).toEqual([]);
  });
});

/** Commands that show things, in both forms, and some that fail. */
const commands = (run: string): readonly (readonly string[])[] => [
  ["config", "show"],
  ["config", "get", "models.providers.p.apiKey"],
  ["config", "get", "hooks"],
  ["config", "get", "mcp"],
  ["config", "explain", "models.providers.p.apiKey"],
  ["config", "check"],
  ["config", "set", "models.providers.p.bogus", "x"],
  ["engine", "logs"],
  ["engine", "logs", "--json"],
  ["status"],
  ["status", "--json"],
  ["doctor"],
  ["models", "keys", "list"],
  ["people", "tokens", "list"],
  ["models", "list"],
  ["schedules", "webhooks"],
  ["mcp", "list"],
  ["permissions"],
  ["config", "changes", "list"],
  ["engine", "audit"],
  ["approvals", "list"],
  ["sessions", "show", "main"],
  ["runs", "list"],
  ["runs", "replay", run],
  ["runs", "replay", run, "--json"],
  ["runs", "replay", run, "--export", "FILE"],
  ["runs", "replay", "nothing"],
];

it("are in no output of a command, and in no file that it writes for a report", needs("bwrap"), async () => {
  const { node, paths } = world;
  const runs = await node.ports.store.runs(last.agent.id, { limit: 50 });
  const shown: Record<string, string> = {};
  const granted = runs.find(({ body }) => body.seqs.length > 0)?.id ?? "";
  const file = join(paths.home, "report.json");
  for (const words of commands(granted)) {
    const argv = words.map((word) => (word === "FILE" ? file : word));
    const { out, err } = await runCommand([...argv, "--home", paths.home], { env: ENV as Record<string, string> });
    shown[words.join(" ")] = out + err;
  }
  expect(foundIn({ ...shown, report: readFileSync(file, "utf8") })).toEqual([]);
  expect(shown["config get models.providers.p.apiKey"]).toContain("***");
  expect(Object.entries(shown).filter(([, text]) => text.trim() === "")).toEqual([]);
});

it("are in no answer of a route whose store fails with an error that names one", async () => {
  const { store } = world.node.ports;
  const real = new Map<string, unknown>();
  const fails = (): never => {
    throw new TypeError(`cannot reach postgres://rookery:${SECRETS.provider}@127.0.0.1/rookery`);
  };
  const reads = [
    "agent",
    "agents",
    "agentByKey",
    "runs",
    "run",
    "messages",
    "approvals",
    "jobs",
    "audit",
    "people",
    "deliveries",
  ];
  for (const name of reads) {
    real.set(name, Reflect.get(store, name));
    Object.defineProperty(store, name, { value: fails, configurable: true, writable: true });
  }
  try {
    // Those that write or wait for a run wait for a store that comes back.
    const reading = routes.filter(([, { method, path }]) => method === "GET" && !path.endsWith("/wait"));
    const { answers, failed } = await askAll((route) => [pathOf(route)], reading);
    expect(foundIn(answers)).toEqual([]);
    expect(Object.values(answers).filter((text) => text.includes("Internal error")).length).toBeGreaterThan(10);
    expect(failed).toBeGreaterThan(20);
  } finally {
    for (const [name, value] of real) Object.defineProperty(store, name, { value, configurable: true, writable: true });
  }
});

it("are in no file of the home but those that hold them, and not on the error output", () => {
  const { paths } = world;
  const holds = /^(auth\.json|token|tokens\.json|rookery\.json5)$/u;
  const files = readdirSync(paths.home, { recursive: true, encoding: "utf8" })
    .filter((name) => !holds.test(name) && statSync(join(paths.home, name)).isFile())
    .map((name) => [name, readFileSync(join(paths.home, name), "latin1")] as const);
  expect(foundIn({ ...Object.fromEntries(files), stderr: world.stderr() })).toEqual([]);
  expect(files.map(([name]) => name)).toContain("logs/rookery.log");
});
