/**
 * Rookery as an MCP server: send, ask, agents, inbox, outbox, history, schedule and search as tools, conversations as resources. Every
 * tool is a request of the API with the rights of the caller's token, so it can do nothing that the token cannot (L13).
 */
import { randomUUID } from "node:crypto";
import type { McpRequestContext, McpServer, McpServerOptions, ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import { errorText } from "../../../core/errors.ts";
import type { RookeryClient } from "../../client/rookery-client.ts";
import { addConversations, transcript } from "./conversation-resource.ts";
import { progressTeller, tellProgress } from "./tell-progress.ts";

const agent = z
  .string()
  .min(1)
  .max(512)
  .describe("A session key, an agent's id, or a name of your own for a conversation");
const limit = z.number().int().min(1).max(100).optional();
/** The conversation of a program that names none. */
const DEFAULT_AGENT = "mcp";
const MAX_WAIT_SECONDS = 600;
const MAX_TEXT = 100_000;

type Output = { readonly content: { readonly type: "text"; readonly text: string }[]; readonly isError?: boolean };

const json = (value: unknown): Output => ({
  content: [{ type: "text", text: JSON.stringify(value, null, 2).slice(0, MAX_TEXT) }],
});
const text = (value: string): Output => ({ content: [{ type: "text", text: value.slice(0, MAX_TEXT) }] });

/** A failure is a result that the caller's model reads. */
const safely =
  <Input>(act: (input: Input, context: ServerContext) => Promise<Output>) =>
  async (input: Input, context: ServerContext): Promise<Output> => {
    try {
      return await act(input, context);
    } catch (error) {
      return { ...text(errorText(error)), isError: true };
    }
  };

const READS = { readOnlyHint: true, openWorldHint: false } as const;

export interface ServerParts {
  readonly rookery: RookeryClient;
  readonly version: string;
  /** Which version of the protocol the caller speaks: 2026-07-28, or an older one. */
  readonly era: McpRequestContext["era"];
  /** Adds to what the server says about itself. */
  readonly options?: McpServerOptions;
}

export async function mcpServerOf({ rookery, version, era, options = {} }: ServerParts): Promise<McpServer> {
  const sdk = await import("@modelcontextprotocol/server");
  const server = new sdk.McpServer(
    { name: "rookery", title: "Rookery", version },
    {
      instructions: "Durable agents. A message that was accepted is answered once, also after a crash.",
      ...options,
      capabilities: {
        tools: { listChanged: false },
        // Callers of older versions would need a session to subscribe.
        resources: { subscribe: era === "modern", listChanged: false },
        ...options.capabilities,
      },
    },
  );
  addTalk(server, rookery);
  addReading(server, rookery);
  addConversations(server, sdk, rookery);
  return server;
}

function addTalk(server: McpServer, rookery: RookeryClient): void {
  server.registerTool(
    "send_message",
    {
      description:
        "Sends a message to an agent. It is durable when this returns; the answer comes later. The same id is accepted once.",
      inputSchema: z.object({
        agent: agent.optional(),
        text: z.string().min(1).max(MAX_TEXT),
        id: z.string().min(1).max(200).optional(),
      }),
    },
    safely(async ({ agent: name = DEFAULT_AGENT, text: said, id }) => {
      const { agentId, seq } = await rookery.agent(name).send(said, { id });
      return json({ accepted: true, agentId, seq });
    }),
  );
  server.registerTool(
    "ask",
    {
      description:
        "Sends a message to an agent and waits for its answer. The same id asks once: call again with it to go on waiting.",
      inputSchema: z.object({
        agent: agent.optional(),
        text: z.string().min(1).max(MAX_TEXT),
        id: z.string().min(1).max(200).optional(),
        timeoutSeconds: z.number().int().min(1).max(MAX_WAIT_SECONDS).optional(),
      }),
    },
    safely(async ({ agent: name = DEFAULT_AGENT, text: said, id = randomUUID(), timeoutSeconds = 120 }, { mcpReq }) => {
      const signal = AbortSignal.any([mcpReq.signal, AbortSignal.timeout(timeoutSeconds * 1_000)]);
      const handle = rookery.agent(name);
      const tell = progressTeller(mcpReq);
      try {
        // The same id is the same message: first its run is followed, then its answer is read.
        if (tell) await tellProgress(handle.stream(said, { id, signal }), tell);
        return text(await handle.ask(said, { id, signal }));
      } catch (error) {
        if (!signal.aborted) throw error;
        return text("There is no answer yet. The message is accepted and will be answered: look at the history later.");
      }
    }),
  );
  server.registerTool(
    "schedule",
    {
      description:
        "Makes a schedule: a cron expression, or a time in ISO form for once. The agent then works on the message.",
      inputSchema: z
        .object({
          name: z.string().min(1).max(200),
          message: z.string().min(1).max(10_000),
          cron: z.string().max(200).optional(),
          at: z.iso.datetime({ offset: true }).optional(),
        })
        .refine(({ cron, at }) => (cron === undefined) !== (at === undefined), { error: "name either cron or at" }),
    },
    safely(async ({ name, message, cron, at }) => {
      const once = { kind: "at", atMs: Date.parse(at ?? "") } as const;
      const schedule = cron === undefined ? once : ({ kind: "cron", expr: cron } as const);
      const { id, when, nextTimes } = await rookery.schedule.add({
        name,
        schedule,
        payload: { kind: "agentTurn", message },
      });
      return json({ id, when, next: nextTimes[0]?.text });
    }),
  );
}

function addReading(server: McpServer, rookery: RookeryClient): void {
  const reading = <Shape extends z.ZodRawShape>(
    name: string,
    description: string,
    shape: Shape,
    read: (input: z.infer<z.ZodObject<Shape>>) => Promise<Output>,
  ): void => {
    const inputSchema = z.object(shape);
    server.registerTool(name, { description, inputSchema, annotations: READS } as never, safely(read) as never);
  };
  reading(
    "list_agents",
    "Lists agents in the order of their creation.",
    { after: z.string().max(64).optional(), limit },
    async (page) => {
      const { items, next } = await rookery.agents.list(page);
      const shown = items.map(({ id, name, sessionKey, kind, waiting, runId }) => ({
        id,
        name,
        sessionKey,
        kind,
        waiting,
        runId,
      }));
      return json({ items: shown, next });
    },
  );
  reading("read_inbox", "What waits for an agent and what it works on.", { agent }, async ({ agent: name }) =>
    json(await rookery.agent(name).inbox()),
  );
  reading(
    "read_outbox",
    "Deliveries that have not ended, or those in a state.",
    { agent: agent.optional(), state: z.string().max(40).optional(), limit },
    async (filter) => json(await rookery.outbox.list(filter)),
  );
  reading(
    "read_history",
    "What was said in a conversation, the newest last.",
    { agent, limit, before: z.number().int().min(0).optional() },
    async ({ agent: name, ...page }) =>
      text(transcript((await rookery.agent(name).history(page)).items) || "Nothing was said yet."),
  );
  reading(
    "search_memory",
    "Finds words in conversations and notes.",
    { query: z.string().min(1).max(1_000), limit: z.number().int().min(1).max(50).optional() },
    async ({ query, limit: most }) => json((await rookery.search(query, { limit: most })).items),
  );
}
