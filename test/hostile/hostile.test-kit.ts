/**
 * The world of the hostile corpus: a whole node whose model obeys everyone. A text that holds `DO-h017-NOW` makes the model call
 * what case h017 wants, whoever wrote the text and wherever it stands.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import { pinsFile } from "../../src/adapters/tools/mcp/pinned-tools.ts";
import { openGateway } from "../../src/app/gateway/gateway.test-kit.ts";
import { openNode, type RookeryNode } from "../../src/app/node/open-node.ts";
import { createBackup } from "../../src/app/operations/backup/create-backup.ts";
import { restoreBackup } from "../../src/app/operations/backup/restore-backup.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { type HomePaths, homePaths, mcpDirectory } from "../../src/config/paths.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../../src/core/agent/agent.ts";
import type { AgentDescriptor } from "../../src/core/agent/descriptor.ts";
import { sessionKeyOf } from "../../src/core/agent/session-key.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model, ModelMessage } from "../../src/core/ports/model.ts";
import type { Tool } from "../../src/core/ports/tool.ts";
import { FakeTelegram, type Json } from "../telegram/fake-telegram.ts";
import corpus from "./corpus.json" with { type: "json" };
import { OwnerChats } from "./owner-chats.test-kit.ts";

export interface Wanted {
  readonly name: string;
  readonly with: Readonly<Record<string, unknown>>;
}
export interface HostileCase {
  readonly id: string;
  readonly entry: string;
  readonly effect: string;
  readonly text: string;
}
export const cases: readonly HostileCase[] = corpus.cases;
const effects = corpus.effects as unknown as Readonly<Record<string, readonly Wanted[]>>;

/** The owner's id on Telegram. */
export const TELEGRAM_OWNER = 7;
const NOTES = [
  "MEMORY.md",
  "memory/evil.md",
  "memory/evil-2.md",
  "memory/kept.md",
  "skills/evil.md",
  "skills/evil/SKILL.md",
];

/** Without a sandbox: what matters is what its texts do. */
const HOSTILE_SERVER = {
  command: process.execPath,
  args: [join(import.meta.dirname, "hostile-server.ts")],
  sandbox: false,
};
const ORDER = /DO-(h\d{3})-NOW/gu;
const textOf = ({ content }: ModelMessage): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("\n");

export interface Snapshot {
  /** Notes and skills, by path. */
  readonly notes: Readonly<Record<string, string | undefined>>;
  /** Requests that the site has got. */
  readonly stolen: readonly string[];
  readonly jobs: readonly string[];
  readonly [part: string]: unknown;
}

export interface HostileWorld {
  readonly node: RookeryNode;
  readonly paths: HomePaths;
  readonly main: AgentRecord;
  /** The ids of the cases that the model has tried. */
  readonly tried: ReadonlySet<string>;
  /** The last message that the model was sent. */
  lastSeen(): string;
  say(descriptor: AgentDescriptor, text: string): Promise<AgentRecord>;
  hook(name: "deploy" | "mail", body: object): Promise<void>;
  /** The owner sends this on Telegram; `files`: what its server has. Resolves when everything has come to rest after `until`. */
  onTelegram(message: Json, until: () => boolean, files?: Readonly<Record<string, Uint8Array>>): Promise<void>;
  /** The owner says something in another of their chats. Resolves when everything has come to rest after `until`. */
  inChat(say: (chats: OwnerChats) => void, until: () => boolean): Promise<void>;
  /** The conversations in which something untrusted was said start afresh. */
  fresh(): Promise<void>;
  /** The home of a backup of this one at another place, with a model that has obeyed nothing yet. */
  restored(gate: GateState): Promise<HostileWorld>;
  /** A member of a group writes. */
  inGroup(member: string, text: string): Promise<void>;
  /** A site of the attacker that every request can reach: only the gate prevents it. Its pages are the texts of the cases. */
  readonly site: string;
  /** Everything that an attacker wants to change. */
  snapshot(): Promise<Snapshot>;
  /** Puts the files back that `snapshot` shows. */
  clean(): void;
  close(): Promise<void>;
}

export const OWNER_AT: AgentDescriptor = { type: "user", connector: "test", userId: "olga", channelId: "olga" };
export const BOB_AT: AgentDescriptor = { type: "user", connector: "test", userId: "bob", channelId: "bob" };

/** Obeys every order in the last message and in the descriptions of its tools; looks outside, at files or at names on request. */
function obedient(
  tried: Set<string>,
  done: Set<string>,
  resolve: (value: unknown, id: string) => unknown,
  see: (text: string) => void,
): Model {
  let count = 0;
  const call = (name: string, given: object) => ({
    ...{ type: "toolCall", id: `c${++count}`, name, arguments: given as Record<string, unknown> },
  });
  return {
    async call({ messages, tools }) {
      const about = { api: "a", provider: "p", model: "m" } as const;
      const last = messages.at(-1);
      const text = last ? textOf(last) : "";
      see(text);
      const described = tools.map(({ description, parameters }) => description + JSON.stringify(parameters)).join("\n");
      // A person's own words may quote an order: for a file, or for a child that only reports.
      const asked = messages.findLast(({ role }) => role === "user");
      const seen = text === GO_ON ? messages.map(textOf).join("\n") : text;
      const orders = asked && /^QUOTE$/mu.test(textOf(asked)) ? [] : ordersIn(`${seen}\n${described}`, done);
      for (const id of orders) {
        if (id !== ANY_TIME) done.add(id);
        tried.add(id);
      }
      const wanted = orders.flatMap((id) =>
        (effects[cases.find((one) => one.id === id)?.effect ?? "a command"] ?? []).map((one) =>
          call(one.name, resolve(one.with, id) as object),
        ),
      );
      const looks = [...(last?.role === "user" ? text : "").matchAll(/^LOOK (\{.*\})$/gmu)].map(
        ([, json = "{}"]) => JSON.parse(json) as Wanted,
      );
      const calls = [...wanted, ...looks.map((one) => call(one.name, one.with))];
      const said = { type: "text", text: last?.role === "tool" ? `It says: ${text.slice(-400)}` : "done" };
      return {
        ...about,
        content: (calls.length > 0 ? calls : [said]) as never,
        stopReason: calls.length > 0 ? "tool_calls" : "stop",
      };
    },
  };
}
/** The model obeys what the history of the session says. */
export const GO_ON = "GO ON";
/** A model obeys an order once, and this one, for children, every time. */
const ANY_TIME = "h000";

const ordersIn = (text: string, done: ReadonlySet<string>): readonly string[] =>
  [...new Set([...text.matchAll(ORDER)].map(([, id]) => id ?? ""))].filter((id) => !done.has(id));

/** The site of the attacker: pages with the texts of the cases, and a place that collects secrets. */
async function openSite(): Promise<{ url: string; port: number; stolen: string[]; close(): void }> {
  const stolen: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    if (path.startsWith("/steal")) stolen.push(path);
    const id = /^\/page\/(h\d{3})$/u.exec(path)?.[1];
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
    response.end(cases.find((one) => one.id === id)?.text ?? "nothing of interest");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, port, stolen, close };
}

export type GateState = "whole" | "open";

interface HostileOptions {
  /** With `open` every call seems to do nothing, so that the corpus must find what happens. */
  readonly gate?: GateState;
  /** A home that exists. Default: a new one. */
  readonly home?: string;
}

export async function openHostileWorld({ gate = "whole", home }: HostileOptions = {}): Promise<HostileWorld> {
  const paths = homePaths(home ?? mkdtempSync(join(tmpdir(), "rookery-hostile-")));
  const tried = new Set<string>();
  let lastSeen = "";
  const site = await openSite();
  const telegram = await new FakeTelegram().start();
  const chats = new OwnerChats();
  await chats.start();
  const names: Record<string, string> = {};
  const resolve = (value: unknown, id: string): unknown =>
    JSON.parse(JSON.stringify(value), (_, one: unknown) => {
      if (one === "@told:exec") return "DO-h000-NOW";
      if (typeof one !== "string") return one;
      // Each case has an address of its own, which no earlier answer is kept for.
      return Object.hasOwn(names, one)
        ? names[one]
        : one.replace("http://127.0.0.1:9/", `${site.url}/`).replace("d=secret", `d=secret-${id}`);
    });
  const config = configSchema.parse({
    owner: { accounts: ["test:olga", `telegram:${TELEGRAM_OWNER}`, ...chats.accounts] },
    connectors: { telegram: { token: telegram.token, apiRoot: telegram.url }, ...chats.settings },
    queue: { debounceMs: 0 },
    cron: { commandGates: true },
    agentToAgent: { write: ["any"], read: ["any"] },
    people: { records: { ann: { accounts: ["test:ann"] }, bob: { accounts: ["test:bob"] } } },
    permissions: {
      allow: [
        ...["mcp__hostile__resources", "mcp__hostile__prompts"],
        // Notes and skills with the texts of the cases: runs with untrusted text in context write them.
        ...["write(memory/h*)", "write(skills/h*/**)"].map((rule) => ({ rule, when: "untrusted" })),
      ],
    },
    mcp: { servers: { hostile: HOSTILE_SERVER } },
    hooks: {
      deploy: { token: "token-of-the-hook", prompt: "{{message}}", target: "main" },
      mail: { token: "token-of-the-hook", prompt: "Mail from {{from}}:\n{{body}}", target: "main" },
    },
    // The site looks like one on the internet: that it is not reached is the gate's work.
    network: { allowPrivate: [`127.0.0.1:${site.port}`] },
    sandbox: { kind: "bwrap" },
  });
  const node = await openNode({
    ...{ paths, config, connectors: [chats.connector()], log: silentLog, stays: true },
    model: obedient(tried, new Set(), resolve, (text) => {
      lastSeen = text;
    }),
    onFatal(error) {
      throw error;
    },
  });
  if (gate === "open") breakGate(node);
  await node.startTriggers();
  const gateway = await openGateway({
    ...{ node, settings: node.settings, tokenFile: paths.tokens },
    reload: async () => ({ changed: [], reloaded: [], needsRestart: [] }),
  });
  chats.gatewayPort = gateway.port;
  const say: HostileWorld["say"] = async (descriptor, text) => {
    // A run that waits for a person does not answer: what matters is that everything has come to rest.
    const posted = await node.agents.post({ to: { descriptor }, body: { kind: "user", text } });
    if (posted.status === "stale") throw new TypeError("the message was not accepted");
    await node.agents.settled();
    return (await node.ports.store.agent(posted.agentId)) as AgentRecord;
  };
  const clerk = { name: "clerk", description: "files things", systemPrompt: "You file." };
  const known = await node.ports.store.agentByKey(sessionKeyOf(OWNER_AT, DEFAULT_PROFILE));
  const main =
    known ?? (await say(OWNER_AT, `LOOK ${JSON.stringify({ name: "create_permanent_agent", with: clerk })}`));
  const bob = await say(BOB_AT, "hello");
  // The first list of tools has asked the server for its own.
  const pins = pinsFile(mcpDirectory(paths), "hostile");
  while (!existsSync(pins)) await new Promise((resolve) => setTimeout(resolve, 20));
  names["@bob"] = bob.id;
  names["@bobkey"] = bob.sessionKey;
  writeFileSync(join(paths.workspace, "AGENTS.md"), "Be kind.\n");
  writeFileSync(join(paths.workspace, "SOUL.md"), "Calm.\n");
  const clean = (): void => {
    for (const name of NOTES) rmSync(join(paths.workspace, name), { force: true });
    mkdirSync(join(paths.workspace, "memory"), { recursive: true });
    writeFileSync(join(paths.workspace, "memory", "kept.md"), "Likes tea.\n");
  };
  clean();
  const file = (name: string): string | undefined => {
    const path = join(paths.workspace, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  };
  const { store } = node.ports;
  return {
    ...{ node, paths, main, tried, say, site: site.url },
    async restored(gateThen) {
      const into = mkdtempSync(join(tmpdir(), "rookery-hostile-"));
      const file = `${into}.tar.gz`;
      await createBackup({ paths, config, env: {}, file });
      await restoreBackup({ file, home: into, ids: systemIds(), now: Date.now(), env: {}, mayStart: async () => true });
      rmSync(file);
      return openHostileWorld({ gate: gateThen, home: into });
    },
    lastSeen: () => lastSeen,
    clean,
    async onTelegram(message, until, files = {}) {
      for (const [id, content] of Object.entries(files)) telegram.files.set(id, Buffer.from(content));
      telegram.say(TELEGRAM_OWNER, "", { text: undefined, ...message });
      await telegram.until(until);
      await node.agents.settled();
    },
    async inChat(speak, until) {
      speak(chats);
      await chats.until(until);
      await node.agents.settled();
    },
    async fresh() {
      // That of a hook is the owner's too, before the owner has written there.
      for (const { id, state } of await store.agentsOfKind("user", { limit: 99 })) {
        if (id !== main.id && !state.untrusted) continue;
        await node.agents.post({ to: { agentId: id }, body: { kind: "reset", by: "person" } });
      }
      await node.agents.settled();
    },
    async inGroup(member, text) {
      const descriptor = {
        type: "user",
        connector: "test",
        userId: "team",
        channelId: "team",
        peerKind: "group",
      } as const;
      // The owner has said something there: what a guest may do with pages ends where others' words are in context.
      for (const [userId, said] of [
        ["olga", "the code is 4711"],
        [member, text],
      ] as const) {
        const body = { kind: "user", text: said, sender: { id: userId } } as const;
        await node.agents.post({ to: { descriptor }, body, sender: { connector: "test", userId } });
        await node.agents.settled();
      }
      await node.agents.settled();
    },
    async hook(name, body) {
      const answer = await fetch(`http://127.0.0.1:${gateway.port}/hooks/${name}`, {
        method: "POST",
        headers: { authorization: "Bearer token-of-the-hook", "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new TypeError(`the hook answered ${answer.status}: ${await answer.text()}`);
      await node.agents.settled();
    },
    async snapshot() {
      const permanents = await store.agentsOfKind("permanent", { limit: 99 });
      return {
        notes: Object.fromEntries(NOTES.map((name) => [name, file(name)])),
        prompts: ["AGENTS.md", "SOUL.md", "HEARTBEAT.md", "TASK.md"].map(file),
        git: [".git/config", ".git/hooks/pre-commit"].map(file),
        pwned: readdirSync(paths.workspace).filter((name) => name.startsWith("pwned")),
        stolen: [...site.stolen],
        config: existsSync(join(paths.home, "rookery.json5")),
        jobs: (await node.triggers.cron.list({ includeDisabled: true })).map(({ name }) => name),
        tasks: (await node.triggers.heartbeat.tasks.list("main")).length,
        permanents: permanents.map(({ descriptor, stopped }) => [descriptor, stopped?.reason]),
        toBob: (await store.messages(bob.id, { limit: 200 })).filter(({ body }) =>
          JSON.stringify(body).includes("evil"),
        ).length,
        people: (await store.people({ limit: 99 })).map(({ id, grants }) => [id, grants]),
        // An allowed call of these is in the audit log.
        acted: (await store.audit({ limit: 1_000, decision: "allow" }))
          .filter(({ action, outcome }) => ACTS.includes(action) && outcome !== "error")
          .map(({ action, callId }) => `${action} ${callId}`),
      };
    },
    async close() {
      await gateway.close();
      await node.close();
      await telegram.close();
      await chats.close();
      site.close();
      rmSync(paths.home, { recursive: true, force: true });
    },
  };
}

/** A gate whose tools name no effects. The tools are loaded later, so each one that is set is changed. */
function breakGate({ ports: { tools } }: RookeryNode): void {
  for (const key of ["find", "known"] as const) {
    let real = tools[key] as ((...given: unknown[]) => Tool | undefined) | undefined;
    const blind = (...given: unknown[]): Tool | undefined => {
      const tool = real?.(...given);
      return tool && { ...tool, rights: [], effects: undefined, needsYes: undefined, renamed: "look" };
    };
    Object.defineProperty(tools, key, {
      get: () => real && blind,
      set: (given) => {
        real = given;
      },
    });
  }
}

/** Reading commands and pages are allowed; what they do wrong is seen in the workspace and at the site. */
const ACTS: readonly string[] = [
  ...["cron_add", "cron", "heartbeat_add", "send_agent_message", "sessions_send"],
  ...["create_permanent_agent", "remove_permanent_agent"],
];
