/**
 * A server that needs a person's input to go on (`input_required`). The call ends with a question; nothing waits and nothing is held. The
 * call, its arguments and the server's state are committed with the result, so the answer may come after a restart. `mcp_answer` sends
 * it, and always needs a person's yes, because the model could have invented the answer. The questions of an agent are one fact: those that
 * no one has answered for a week, and the oldest of too many, go with the next one, which says so.
 */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import type { ServerCall } from "./mcp-tool.ts";

const value = z.union([z.string().max(10_000), z.number(), z.boolean(), z.array(z.string().max(1_000)).max(100)]);
export const answersSchema = z.record(z.string().max(200), value);

const storedSchema = z.object({
  id: z.string(),
  at: z.number(),
  server: z.string(),
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
  questions: z.array(z.object({ key: z.string().optional(), message: z.string() })),
  state: z.string().optional(),
});
type StoredInput = z.infer<typeof storedSchema>;

/** What goes back to the server. */
export interface PendingInput {
  readonly answers: z.infer<typeof answersSchema>;
  readonly state?: string;
  readonly keys?: readonly string[];
  readonly responses?: Readonly<Record<string, unknown>>;
  /** The question that is answered. */
  readonly ref: string;
}

interface Asked {
  readonly inputRequests?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
  readonly questions?: readonly { readonly message: string; readonly schema?: unknown; readonly url?: string }[];
}

const MAX_STATE = 100_000;
const MAX_MESSAGE = 2_000;
/** What an agent may leave unanswered: so many questions, for so long, in so many characters. */
const MAX_OPEN = 10;
const MAX_AGE_MS = 7 * 24 * 3_600_000;
const MAX_STORED = 500_000;
const keyOf = (agentId: string): string => `mcp-input:${agentId}`;

/** `open`: the questions of this agent that are not answered yet. */
export function inputAsked(
  server: string,
  call: ServerCall,
  asked: Asked,
  context: ToolContext,
  open: OpenInputs,
): ToolOutput {
  const requests = Object.entries(asked.inputRequests ?? {}).map(([key, request]) => ({ key, ...questionOf(request) }));
  const questions = [...requests, ...(asked.questions ?? []).map((each) => ({ key: undefined, ...each }))];
  const { requestState: state } = asked;
  if ((state?.length ?? 0) > MAX_STATE)
    throw new InvalidInputError(`The MCP server ${server} asks with a state that is too large.`);
  const id = `${context.runId}.${context.callId}`;
  const stored: StoredInput = {
    ...{ id, at: open.now, server, tool: call.tool, args: { ...call.args }, state },
    questions: questions.map(({ key, message }) => ({ key, message: message.slice(0, MAX_MESSAGE) })),
  };
  const kept = keptInputs([...open.inputs.filter((each) => each.id !== call.given?.ref), stored], open.now);
  const dropped = open.inputs.filter((each) => each.id !== call.given?.ref).length + 1 - kept.length;
  const lines = questions.map(({ message, schema, url }) =>
    [message.slice(0, MAX_MESSAGE), url && `Open: ${url.slice(0, 1_000)}`, fieldsOf(schema)].filter(Boolean).join("\n"),
  );
  const text = [
    `The server ${server} needs input from the person before ${call.tool} can go on. Nothing is decided yet.`,
    ...lines,
    ...(dropped > 0 ? [`Earlier questions that no one has answered are dropped: ${dropped}.`] : []),
    `Ask the person. Then call mcp_answer with ref "${id}" and their answers by the names of the fields; the person confirms it.`,
  ].join("\n\n");
  return {
    content: [{ type: "text", text }],
    untrusted: { from: `mcp:${server}` },
    found: ["mcp_answer"],
    ops: [putInputs(context.agentId, kept)],
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

export interface OpenInputs {
  readonly inputs: readonly StoredInput[];
  readonly now: number;
}

/** The agent is named, so that forgetting a person removes the questions of the person's agents. */
const openSchema = z.object({ agentId: z.string(), inputs: z.array(storedSchema) });

/** The questions of an agent that no one has answered, the oldest first. */
export async function openInputs(store: InputStore, agentId: string, now: number): Promise<OpenInputs> {
  const text = await store.fact(keyOf(agentId));
  return { inputs: text === undefined ? [] : openSchema.parse(JSON.parse(text)).inputs, now };
}

/** The newest ones that are not too old and together not too large. */
export function keptInputs(inputs: readonly StoredInput[], now: number): readonly StoredInput[] {
  let size = 0;
  return inputs
    .filter(({ at }) => now - at < MAX_AGE_MS)
    .toReversed()
    .slice(0, MAX_OPEN)
    .filter((input, index) => {
      size += JSON.stringify(input).length;
      return index === 0 || size <= MAX_STORED;
    })
    .toReversed();
}

const putInputs = (agentId: string, inputs: readonly StoredInput[]) =>
  ({
    op: "fact.put",
    key: keyOf(agentId),
    value: inputs.length === 0 ? null : JSON.stringify({ agentId, inputs }),
  }) as const;

/** The same answers go to every question: each has its own fields. */
export function givenInput(stored: StoredInput, answers: PendingInput["answers"]): PendingInput {
  const keys = stored.questions.flatMap(({ key }) => key ?? []);
  const responses = Object.fromEntries(keys.map((key) => [key, { action: "accept", content: answers }]));
  return { answers, state: stored.state, keys: keys.length > 0 ? keys : undefined, responses, ref: stored.id };
}

/** After an answer. Those that are too old go too. */
export const forgetInput = (agentId: string, { inputs, now }: OpenInputs, ref: string) =>
  putInputs(
    agentId,
    keptInputs(
      inputs.filter(({ id }) => id !== ref),
      now,
    ),
  );
