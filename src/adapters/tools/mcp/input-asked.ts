/**
 * A server that needs a person's input to go on (`input_required`). The call ends with a question; nothing waits and nothing is held. The
 * call, its arguments and the server's state are committed with the result, so the answer may come after a restart. `mcp_answer` sends
 * it, and always needs a person's yes, because the model could have invented the answer.
 */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import type { ServerCall } from "./mcp-tool.ts";

const value = z.union([z.string().max(10_000), z.number(), z.boolean(), z.array(z.string().max(1_000)).max(100)]);
export const answersSchema = z.record(z.string().max(200), value);

const storedSchema = z.object({
  server: z.string(),
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
  agentId: z.string(),
  questions: z.array(z.object({ key: z.string().optional(), message: z.string() })),
  state: z.string().optional(),
});
export type StoredInput = z.infer<typeof storedSchema>;

/** What goes back to the server. */
export interface PendingInput {
  readonly answers: z.infer<typeof answersSchema>;
  readonly state?: string;
  readonly keys?: readonly string[];
  readonly responses?: Readonly<Record<string, unknown>>;
}

interface Asked {
  readonly inputRequests?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
  readonly questions?: readonly { readonly message: string; readonly schema?: unknown; readonly url?: string }[];
}

const MAX_STATE = 100_000;
const MAX_MESSAGE = 2_000;
const keyOf = (id: string): string => `mcp-input:${id}`;

export function inputAsked(server: string, call: ServerCall, asked: Asked, context: ToolContext): ToolOutput {
  const requests = Object.entries(asked.inputRequests ?? {}).map(([key, request]) => ({ key, ...questionOf(request) }));
  const questions = [...requests, ...(asked.questions ?? []).map((each) => ({ key: undefined, ...each }))];
  const { requestState: state } = asked;
  if ((state?.length ?? 0) > MAX_STATE)
    throw new InvalidInputError(`The MCP server ${server} asks with a state that is too large.`);
  const id = `${context.runId}.${context.callId}`;
  const stored: StoredInput = {
    ...{ server, tool: call.tool, args: { ...call.args }, agentId: context.agentId, state },
    questions: questions.map(({ key, message }) => ({ key, message: message.slice(0, MAX_MESSAGE) })),
  };
  const lines = questions.map(({ message, schema, url }) =>
    [message.slice(0, MAX_MESSAGE), url && `Open: ${url.slice(0, 1_000)}`, fieldsOf(schema)].filter(Boolean).join("\n"),
  );
  const text = [
    `The server ${server} needs input from the person before ${call.tool} can go on. Nothing is decided yet.`,
    ...lines,
    `Ask the person. Then call mcp_answer with ref "${id}" and their answers by the names of the fields; the person confirms it.`,
  ].join("\n\n");
  return {
    content: [{ type: "text", text }],
    untrusted: { from: `mcp:${server}` },
    found: ["mcp_answer"],
    ops: [{ op: "fact.put", key: keyOf(id), value: JSON.stringify(stored) }],
  };
}

function questionOf(request: unknown): { message: string; schema?: unknown; url?: string } {
  const { method, params } = (request ?? {}) as { method?: string; params?: Record<string, unknown> };
  if (method !== "elicitation/create")
    return { message: `It asks for ${String(method).slice(0, 100)}, which Rookery does not offer.` };
  const { message = "", requestedSchema, url } = params ?? {};
  return { message: String(message), schema: requestedSchema, url: typeof url === "string" ? url : undefined };
}

function fieldsOf(schema: unknown): string | undefined {
  const { properties } = (schema ?? {}) as { properties?: Record<string, unknown> };
  if (!properties) return undefined;
  return `Fields: ${JSON.stringify(properties).slice(0, 4_000)}`;
}

export interface InputStore {
  fact(key: string): Promise<string | undefined>;
}

/** The stored call; undefined if there is none of this agent. */
export async function storedInput(store: InputStore, id: string, agentId: string): Promise<StoredInput | undefined> {
  const text = await store.fact(keyOf(id));
  if (text === undefined) return undefined;
  const stored = storedSchema.parse(JSON.parse(text));
  return stored.agentId === agentId ? stored : undefined;
}

/** The same answers go to every question: each has its own fields. */
export function givenInput(stored: StoredInput, answers: PendingInput["answers"]): PendingInput {
  const keys = stored.questions.flatMap(({ key }) => key ?? []);
  const responses = Object.fromEntries(keys.map((key) => [key, { action: "accept", content: answers }]));
  return { answers, state: stored.state, keys: keys.length > 0 ? keys : undefined, responses };
}

export const forgetInput = (id: string) => ({ op: "fact.put", key: keyOf(id), value: null }) as const;
