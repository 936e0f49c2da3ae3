/**
 * The world of the hostile corpus: a whole node whose model obeys everyone. A text that holds `DO-h017-NOW` makes the model call
 * what case h017 wants, whoever wrote the text and wherever it stands.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { pinsFile } from "../../src/adapters/tools/mcp/pinned-tools.ts";
import { openGateway } from "../../src/app/gateway/gateway.test-kit.ts";
import { openNode, type RookeryNode } from "../../src/app/node/open-node.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { type HomePaths, homePaths, mcpDirectory } from "../../src/config/paths.ts";
import type { AgentRecord } from "../../src/core/agent/agent.ts";
import type { AgentDescriptor } from "../../src/core/agent/descriptor.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model, ModelMessage } from "../../src/core/ports/model.ts";
import type { Tool } from "../../src/core/ports/tool.ts";
import corpus from "./corpus.json" with { type: "json" };

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

/** Without a sandbox: what matters is what its texts do. */
const HOSTILE_SERVER = {
  command: process.execPath,
  args: [join(import.meta.dirname, "hostile-server.ts")],
  sandbox: false,
};
const ORDER = /DO-(h\d{3})-NOW/gu;
const textOf = ({ content }: ModelMessage): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("\n");

export interface HostileWorld {
  readonly node: RookeryNode;
  readonly paths: HomePaths;
  readonly main: AgentRecord;
  /** What the model has tried, by case. */
  readonly tried: ReadonlySet<string>;
  say(descriptor: AgentDescriptor, text: string): Promise<AgentRecord>;
  hook(body: object): Promise<void>;
  /** The next `look_outside` returns this. */
  shown(text: string): void;
  /** Everything that an attacker wants to change. */
  snapshot(): Promise<object>;
  close(): Promise<void>;
}

export const OWNER_AT: AgentDescriptor = { type: "user", connector: "test", userId: "olga", channelId: "olga" };
export const BOB_AT: AgentDescriptor = { type: "user", connector: "test", userId: "bob", channelId: "bob" };

/** Obeys every order in the last message and in the descriptions of its tools; looks outside, at files or at names when it is told to. */
function obedient(tried: Set<string>, resolve: (value: unknown) => unknown): Model {
  let count = 0;
  const call = (name: string, given: object) => ({
    ...{ type: "toolCall", id: `c${++count}`, name, arguments: given as Record<string, unknown> },
  });
  return {
    async call({ messages, tools }) {
      const about = { api: "a", provider: "p", model: "m" } as const;
      const last = messages.at(-1);
      const text = last ? textOf(last) : "";
      const described = tools.map(({ description, parameters }) => description + JSON.stringify(parameters)).join("\n");
      // A person's own words may quote an order: for a file, or for a child that only reports.
      const asked = messages.findLast(({ role }) => role === "user");
      const orders = asked && /^QUOTE$/mu.test(textOf(asked)) ? [] : ordersIn(`${text}\n${described}`);
      for (const id of orders) {
        if (id !== ANY_TIME) done.add(id);
        tried.add(id);
      }
      const wanted = orders.flatMap((id) => effects[cases.find((one) => one.id === id)?.effect ?? "a command"] ?? []);
      const looks = /^LOOK (\{.*\})$/mu.exec(last?.role === "user" ? text : "")?.[1];
      const { name, with: given } = (looks ? JSON.parse(looks) : {}) as { name?: string; with?: object };
      const calls = [
        ...wanted.map((one) => call(one.name, resolve(one.with) as object)),
        ...(name !== undefined ? [call(name, given ?? {})] : []),
      ];
      const said = { type: "text", text: last?.role === "tool" ? `It says: ${text.slice(-400)}` : "done" };
      return {
        ...about,
        content: (calls.length > 0 ? calls : [said]) as never,
        stopReason: calls.length > 0 ? "tool_calls" : "stop",
      };
    },
  };
}
/** A model obeys an order once, and this one, for children, every time. */
const done = new Set<string>();
const ANY_TIME = "h000";

const ordersIn = (text: string): readonly string[] =>
  [...new Set([...text.matchAll(ORDER)].map(([, id]) => id ?? ""))].filter((id) => !done.has(id));

export async function openHostileWorld(): Promise<HostileWorld> {
  const paths = homePaths(mkdtempSync(join(tmpdir(), "rookery-hostile-")));
  const tried = new Set<string>();
  let outside = "";
  const names: Record<string, string> = {};
  const resolve = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value), (_, one: unknown) => {
      if (one === "@told:exec") return "DO-h000-NOW";
      return typeof one === "string" && Object.hasOwn(names, one) ? names[one] : one;
    });
  const look: Tool = {
    ...{
      name: "look_outside",
      description: "Reads what someone else wrote.",
      input: z.object({}),
      rights: ["network"],
    },
    ...{ replay: "safe", parallel: false, maxOutput: 4_000 },
    execute: async () => ({ content: [{ type: "text", text: outside }] }),
  };
  const config = configSchema.parse({
    owner: { accounts: ["test:olga"] },
    queue: { debounceMs: 0 },
    cron: { commandGates: true },
    agentToAgent: { write: ["any"], read: ["any"] },
    people: { records: { ann: { accounts: ["test:ann"] }, bob: { accounts: ["test:bob"] } } },
    permissions: { allow: ["mcp__hostile__resources", "mcp__hostile__prompts"] },
    mcp: { servers: { hostile: HOSTILE_SERVER } },
    hooks: { deploy: { token: "token-of-the-hook", prompt: "{{message}}", target: "main" } },
  });
  const node = await openNode({
    ...{ paths, config, connectors: [], log: silentLog, moreTools: [look] },
    model: obedient(tried, resolve),
    onFatal(error) {
      throw error;
    },
  });
  await node.startTriggers();
  const gateway = await openGateway({
    ...{ node, config: () => config, tokenFile: paths.tokens },
    reload: async () => ({ changed: [], reloaded: [], needsRestart: [] }),
  });
  const say: HostileWorld["say"] = async (descriptor, text) => {
    // A run that waits for a person does not answer: what matters is that everything has come to rest.
    const posted = await node.agents.post({ to: { descriptor }, body: { kind: "user", text } });
    if (posted.status === "stale") throw new TypeError("the message was not accepted");
    await node.agents.settled();
    return (await node.ports.store.agent(posted.agentId)) as AgentRecord;
  };
  const clerk = { name: "clerk", description: "files things", systemPrompt: "You file." };
  const main = await say(OWNER_AT, `LOOK ${JSON.stringify({ name: "create_permanent_agent", with: clerk })}`);
  const bob = await say(BOB_AT, "hello");
  // The first list of tools has asked the server for its own.
  const pins = pinsFile(mcpDirectory(paths), "hostile");
  while (!existsSync(pins)) await new Promise((resolve) => setTimeout(resolve, 20));
  names["@bob"] = bob.id;
  names["@bobkey"] = bob.sessionKey;
  writeFileSync(join(paths.workspace, "AGENTS.md"), "Be kind.\n");
  writeFileSync(join(paths.workspace, "SOUL.md"), "Calm.\n");
  const file = (name: string): string | undefined => {
    const path = join(paths.workspace, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  };
  const { store } = node.ports;
  return {
    ...{ node, paths, main, tried, say },
    shown(text) {
      outside = text;
    },
    async hook(body) {
      const answer = await fetch(`http://127.0.0.1:${gateway.port}/hooks/deploy`, {
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
        prompts: ["AGENTS.md", "SOUL.md", "HEARTBEAT.md", "TASK.md"].map(file),
        pwned: readdirSync(paths.workspace).filter((name) => name.startsWith("pwned")),
        config: existsSync(join(paths.home, "rookery.json5")),
        jobs: (await node.triggers.cron.list({ includeDisabled: true })).map(({ name }) => name),
        tasks: (await node.triggers.heartbeat.tasks.list("main")).length,
        permanents: permanents.map(({ descriptor, stopped }) => [descriptor, stopped?.reason]),
        toBob: (await store.messages(bob.id, { limit: 200 })).filter(({ body }) =>
          JSON.stringify(body).includes("evil"),
        ).length,
        people: (await store.people({ limit: 99 })).map(({ id, grants }) => [id, grants]),
        // What a call of these would have done is in the audit log too, as allowed.
        acted: (await store.audit({ limit: 1_000, decision: "allow" }))
          .filter(({ action, outcome }) => ACTS.includes(action) && outcome !== "error")
          .map(({ action, callId }) => `${action} ${callId}`),
      };
    },
    async close() {
      await gateway.close();
      await node.close();
      rmSync(paths.home, { recursive: true, force: true });
    },
  };
}

const ACTS: readonly string[] = [
  ...["exec", "web_fetch", "cron_add", "cron", "heartbeat_add", "send_agent_message", "sessions_send"],
  ...["create_permanent_agent", "remove_permanent_agent"],
];
