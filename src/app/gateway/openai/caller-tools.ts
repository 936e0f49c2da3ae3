/**
 * Tools that the client of the OpenAI API executes. A call of one ends the run: the client gets it, and its result continues the
 * agent, also after a restart. The id of a call names its run, so a result finds its agent without anything else.
 */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { RunId } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { RunOverrides } from "../../../core/message/run-overrides.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { Store } from "../../../core/store/store.ts";
import { HttpError } from "../http/http-error.ts";
import type { Answer } from "../schemas/message.ts";

export type CallerTools = NonNullable<RunOverrides["tools"]>;
export type ToolResults = NonNullable<Extract<MessageBody, { kind: "user" }>["toolResults"]>;

const MAX_TOOLS = 128;
const MAX_CHARACTERS = 100_000;
const NAME = /^[\w-]{1,64}$/;

const functionSchema = z.looseObject({
  name: z.string().regex(NAME, "a name of letters, digits, _ and -"),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

/** The tools of a request: `{ type, function: { … } }` of Chat Completions, `{ type, name, … }` of Responses. */
export function readTools(given: unknown): CallerTools {
  if (!Array.isArray(given) || given.length > MAX_TOOLS) throw invalid("tools", `a list of at most ${MAX_TOOLS} tools`);
  if (JSON.stringify(given).length > MAX_CHARACTERS)
    throw invalid("tools", `at most ${MAX_CHARACTERS} characters in all`);
  const tools = given.map((tool: unknown, at) => {
    const { type, function: inner } = (tool ?? {}) as { type?: unknown; function?: unknown };
    if (type !== "function") {
      throw new HttpError(400, "unsupported", `tools[${at}] is of the type ${JSON.stringify(type)}.`, {
        param: `tools[${at}].type`,
        hint: "Send tools of the type function; the agent has its own tools for the rest.",
      });
    }
    const read = functionSchema.safeParse(inner ?? tool);
    if (!read.success) throw invalid(`tools[${at}]`, read.error.issues[0]?.message ?? "is not valid");
    const { name, description, parameters } = read.data;
    return { name, description: description ?? "", parameters: parameters ?? { type: "object", properties: {} } };
  });
  if (new Set(tools.map(({ name }) => name)).size < tools.length) throw invalid("tools", "two have the same name");
  return tools;
}

const invalid = (param: string, why: string): HttpError =>
  new HttpError(400, "invalid_input", `${param}: ${why}`, { param });

/** A call as the client gets it. */
interface HandedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** The calls that the client is to execute. Their ids are opaque to it. */
export const callsIn = ({ runId, calls = [] }: Pick<Answer, "runId" | "calls">): readonly HandedCall[] =>
  calls.map(({ name, arguments: args }, at) => ({
    id: `${prefixOf(runId ?? "")}${at}`,
    name,
    arguments: JSON.stringify(args),
  }));

/** A result as the client sends it. */
export interface GivenResult {
  readonly id: string;
  readonly text: string;
  readonly param: string;
}

interface Continued {
  readonly agent: AgentRecord;
  readonly run: RunRecord;
  readonly results: ToolResults;
}

/** The agent whose calls were executed, and their results. Throws a 400 unless each open call of one run has one result. */
export async function continuedCalls(
  store: Pick<Store, "run" | "agent">,
  given: readonly GivenResult[],
): Promise<Continued> {
  const [first] = given;
  const run = first && (await store.run(runOf(first.id)));
  const agent = run && (await store.agent(run.agentId));
  const open = run?.body.pendingToolCalls ?? [];
  if (!first || !run || !agent || open.length === 0) throw noCall(first);
  const results = open.map(({ id: callId, name }, at) => {
    const result = given.find(({ id }) => id === `${prefixOf(run.id)}${at}`);
    if (result) return { callId, name, text: result.text };
    throw new HttpError(400, "missing_result", `The call ${prefixOf(run.id)}${at} of ${name} has no result.`, {
      param: first.param,
      hint: "Send a result for each call of the answer in one request.",
    });
  });
  const other = given.find(
    ({ id }, at) => given.findIndex((one) => one.id === id) !== at || !isOpen(id, run.id, open.length),
  );
  if (other) throw noCall(other);
  return { agent, run, results };
}

const prefixOf = (run: string): string => `call_${run.replaceAll("-", "")}_`;
const isOpen = (id: string, run: string, count: number): boolean =>
  id.startsWith(prefixOf(run)) && Number(id.slice(prefixOf(run).length)) < count;

function runOf(id: string): RunId {
  const [, hex = ""] = /^call_([0-9a-f]{32})_\d{1,4}$/.exec(id) ?? [];
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5") as RunId;
}

export const noCall = (result: GivenResult | undefined): HttpError =>
  new HttpError(400, "unknown_call", `There is no open call ${(result?.id ?? "").slice(0, 100)}.`, {
    param: result?.param,
    hint: "Send the results of the calls of an answer of this server, each with the id of its call.",
  });
