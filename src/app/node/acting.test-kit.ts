/** A whole node whose model calls what it is told to: `CALL {json}` in the latest words makes the calls, one after another. */
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { makeDiskDirectory } from "../../../test/kit/disk-directory.ts";
import { jsonLog } from "../../adapters/system/json-log.ts";
import { type Config, configSchema } from "../../config/config-schema.ts";
import { createHome } from "../../config/create-home.ts";
import { type HomePaths, homePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Connector, OutgoingDelivery } from "../../core/ports/connector.ts";
import type { Model, ModelMessage } from "../../core/ports/model.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

const about = { api: "a", provider: "p", model: "m" } as const;
const textOf = (message?: ModelMessage): string =>
  message?.content.map((block) => (block.type === "text" ? block.text : "")).join("\n") ?? "";

/** A line that makes the model call this tool. */
export const call = (name: string, given: object = {}): string => `CALL ${JSON.stringify({ name, given })}`;

/** Makes the calls that its person's latest words name, and then tells the last result. */
function calling(prompts: unknown[]): Model {
  let calls = 0;
  return {
    async call(request) {
      prompts.push(request);
      const { messages } = request;
      const from = messages.findLastIndex(({ role }) => role === "user");
      const wanted = [...textOf(messages[from]).matchAll(/^CALL (\{.*\})$/gmu)].map(([, json]) =>
        JSON.parse(json ?? "{}"),
      );
      const made = messages.slice(from).filter(({ role }) => role === "tool").length;
      const next = wanted[made] as { name: string; given: object } | undefined;
      if (!next) {
        const said = made === 0 ? `answer to ${textOf(messages[from])}` : `result: ${textOf(messages.at(-1))}`;
        return { ...about, content: [{ type: "text", text: said }], stopReason: "stop" };
      }
      const { name, given } = next;
      const content = [{ type: "toolCall", id: `c${++calls}`, name, arguments: given }];
      return { ...about, content: content as never, stopReason: "tool_calls" };
    },
  };
}

export interface Said {
  readonly agent: AgentRecord;
  /** The latest entries, the newest first. */
  readonly text: string;
}

export interface ActingWorld {
  /** The one that runs now. */
  readonly node: RookeryNode;
  readonly paths: HomePaths;
  readonly config: Config;
  /** The address of a page on a local server, and the paths that were asked for there. */
  readonly page: string;
  readonly asked: string[];
  readonly prompts: unknown[];
  readonly sent: OutgoingDelivery[];
  readonly events: unknown[];
  readonly stderr: () => string;
  /** The owner writes, in a new session, unless it goes `on` in the one before. */
  say(text: string, on?: "new" | "on"): Promise<Said>;
  /** Answers every open question with yes. */
  approveAll(): Promise<void>;
  /** Another engine takes over the home. Commands in the background go on. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface ActingOptions {
  /** Of the configuration, by the port of the local server. */
  readonly config: (port: number) => object;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const OLGA: AgentDescriptor = { type: "user", connector: "test", userId: "olga", channelId: "olga" };

/** In /tmp: a sandbox has a /dev of its own. */
export async function openActing({ config: given, env = {} }: ActingOptions): Promise<ActingWorld> {
  const paths = homePaths(makeDiskDirectory("rookery-acting-"));
  const [asked, prompts, events]: [string[], unknown[], unknown[]] = [[], [], []];
  const sent: OutgoingDelivery[] = [];
  let stderr = "";
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<html><head><title>News</title></head><body><p>Bees are back in the valley.</p></body></html>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const channel: Connector = {
    ...{ name: "test", sendingClass: "idempotent", capabilities: { sendText: true } },
    ...{ start: async () => {}, stop: async () => {}, health: () => ({ ok: true, detail: "" }), admit: () => 0 },
    async send(delivery) {
      sent.push(delivery);
      return { status: "sent" };
    },
  } as Connector;
  await createHome(paths);
  const config = configSchema.parse({ owner: { accounts: ["test:olga"] }, queue: { debounceMs: 0 }, ...given(port) });
  const errors = { write: (text: string) => (stderr += text) };
  const model = calling(prompts);
  const open = async (): Promise<RookeryNode> => {
    const opened = await openNode({
      ...{ paths, config, connectors: [channel], model },
      env: { PATH: process.env.PATH, ...env },
      log: jsonLog({ file: join(paths.logs, "rookery.log"), level: "debug", errors }),
      onFatal: (error) => expect.unreachable(String(error)),
    });
    opened.agents.events.listen((event) => events.push(event));
    await opened.startTriggers();
    return opened;
  };
  let node = await open();
  return {
    ...{ paths, config, page: `http://127.0.0.1:${port}/news`, asked, prompts, sent, events },
    get node() {
      return node;
    },
    stderr: () => stderr,
    async say(text, on = "new") {
      const to = { descriptor: OLGA };
      if (on === "new") await node.agents.post({ to, body: { kind: "reset", by: "person" } });
      const posted = await node.agents.post({ to, body: { kind: "user", text } });
      if (posted.status === "stale") throw new TypeError("stale");
      await node.agents.settled();
      const agent = (await node.ports.store.agent(posted.agentId)) as AgentRecord;
      const lines = await node.ports.store.linesBack(agent.id, { limit: 3 });
      return { agent, text: lines.map(({ line }) => line).join("\n") };
    },
    async approveAll() {
      for (const { id } of await node.ports.store.approvals({ limit: 5, states: ["pending"] })) {
        await node.agents.approvals.decide(id, { approve: true }, { person: OWNER, surface: "test" });
        await node.agents.settled();
      }
    },
    async restart() {
      await node.close();
      node = await open();
    },
    async close() {
      await node.close();
      server.close();
      rmSync(paths.home, { recursive: true, force: true });
    },
  };
}
