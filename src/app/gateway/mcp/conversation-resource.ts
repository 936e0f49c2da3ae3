/** Conversations as resources of the MCP server: listed, completed, read, and followed. */
import type { McpServer, ServerEventBus } from "@modelcontextprotocol/server";
import { unansweredText } from "../../../core/message/unanswered-message.ts";
import type { HistoryPage } from "../../client/agent-handle.ts";
import type { StreamOptions } from "../../client/event-stream.ts";
import type { RookeryClient } from "../../client/rookery-client.ts";

export const CONVERSATIONS = "rookery://conversations/";
const LISTED = 100;
/** Conversations that one subscription follows. */
const MAX_FOLLOWED = 20;

type Sdk = Pick<typeof import("@modelcontextprotocol/server"), "ResourceTemplate">;

export function addConversations(server: McpServer, { ResourceTemplate }: Sdk, rookery: RookeryClient): void {
  const agents = async () => (await rookery.agents.list({ limit: LISTED })).items;
  const template = new ResourceTemplate(`${CONVERSATIONS}{agent}`, {
    list: async () => ({
      resources: (await agents()).map(({ id, name }) => ({
        uri: `${CONVERSATIONS}${id}`,
        name,
        mimeType: "text/plain",
      })),
    }),
    complete: {
      agent: async (value) => {
        const asked = value.toLowerCase();
        const fits = (text: string | undefined): boolean => text?.toLowerCase().includes(asked) ?? false;
        return (await agents()).filter((one) => [one.id, one.name, one.sessionKey].some(fits)).map(({ id }) => id);
      },
    },
  });
  server.registerResource(
    "conversation",
    template,
    { title: "Conversation", description: "What was said, the newest last", mimeType: "text/plain" },
    async (uri, { agent }) => {
      const { items } = await rookery.agent(String(agent)).history({ limit: 100 });
      return { contents: [{ uri: uri.href, mimeType: "text/plain", text: transcript(items) }] };
    },
  );
}

/** Entries come newest first. */
export function transcript(items: readonly Pick<HistoryPage["items"][number], "entry" | "unanswered">[]): string {
  const lines = items.toReversed().flatMap(({ entry, unanswered = [] }) => {
    const { type, role, content } = (entry ?? {}) as { type?: string; role?: string; content?: unknown };
    const isSaid = type === "message" && role !== "tool" && Array.isArray(content);
    const said = (isSaid ? content : []).flatMap((block: { type?: string; text?: string }) =>
      block.type === "text" ? [block.text] : [],
    );
    const ends = unanswered.map((one) => `(message ${one.seq} "${one.text}" got no answer: ${unansweredText(one)})`);
    return [...(said.length === 0 ? [] : [`${role}: ${said.join("\n")}`]), ...ends];
  });
  return lines.join("\n\n");
}

/** The conversations that a request `subscriptions/listen` asks for. */
export function followedIn(message: unknown): readonly string[] {
  const { method, params } = (message ?? {}) as {
    method?: unknown;
    params?: { notifications?: { resourceSubscriptions?: unknown } };
  };
  const asked = params?.notifications?.resourceSubscriptions;
  if (method !== "subscriptions/listen" || !Array.isArray(asked)) return [];
  const own = asked.filter((uri): uri is string => typeof uri === "string" && uri.startsWith(CONVERSATIONS));
  return [...new Set(own)].slice(0, MAX_FOLLOWED);
}

export type Follow = (
  agent: string,
  options: Pick<StreamOptions, "signal" | "onConnection">,
) => AsyncIterable<{ readonly type: string }>;

/**
 * Reports each new entry of these conversations, as long as someone listens, and once when it begins to follow: what was said before that
 * is not missed. What the caller may not read is silent.
 */
export function followingBus(uris: readonly string[], follow: Follow, more?: ServerEventBus): ServerEventBus {
  return {
    publish: (event) => more?.publish(event),
    subscribe(listener) {
      const stop = new AbortController();
      const stopMore = more?.subscribe(listener);
      const { signal } = stop;
      for (const uri of uris) {
        const tell = (): void => listener({ kind: "resource_updated", uri });
        const onConnection = (state: "open" | "lost"): void => {
          if (state === "open") tell();
        };
        const following = async (): Promise<void> => {
          const agent = decodeURIComponent(uri.slice(CONVERSATIONS.length));
          for await (const { type } of follow(agent, { signal, onConnection })) if (type === "entry") tell();
        };
        // There is no such conversation for this caller, or the engine stops.
        following().catch(() => undefined);
      }
      return () => {
        stop.abort();
        stopMore?.();
      };
    },
  };
}

/** Over one connection the library knows who listens for what: every step of every conversation is reported to it. */
export function tellUpdates(server: McpServer, rookery: Pick<RookeryClient, "on">): void {
  rookery.on("*", ({ type, agentId }) => {
    if (agentId === undefined || (type !== "start" && type !== "step" && type !== "end")) return;
    // A server that was only asked who it is has no connection.
    server.server.sendResourceUpdated({ uri: `${CONVERSATIONS}${agentId}` }).catch(() => undefined);
  });
}
