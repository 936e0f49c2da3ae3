/** A model that answers from a script, and the helpers to write a script. */
import type { Block } from "../../core/history/entry.ts";
import { assertKnownKeys, type KeyTable } from "../../core/known-keys.ts";
import type { CallPrice, Model, ModelEvent, ModelRequest, ModelResult } from "../../core/ports/model.ts";
import { type Activity, type TestProcess, whileAlive } from "./process.ts";

export interface ModelCall {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ModelEvent) => void;
  /** Counts the calls of this engine from 1. */
  readonly n: number;
}

/** An answer of a script: a text, tool calls, or a result of the model port. */
export type Reply = string | { say?: string; call: readonly ToolAsk[] } | Partial<ModelResult>;
export interface ToolAsk {
  readonly id?: string;
  readonly name: string;
  readonly with?: Record<string, unknown>;
}
export type Script = (call: ModelCall) => Reply | Promise<Reply>;

export const USAGE = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };

const REPLY: KeyTable<Exclude<Reply, string>> = {
  say: true,
  call: true,
  content: true,
  stopReason: true,
  api: true,
  provider: true,
  model: true,
  usage: true,
  error: true,
  alsoUsed: true,
  cliSession: true,
  cut: true,
  unheard: true,
};

export function modelResult(reply: Reply, n = 0): ModelResult {
  const base: ModelResult = {
    content: [],
    stopReason: "stop",
    api: "scripted",
    provider: "scripted",
    model: "scripted-1",
    usage: USAGE,
  };
  if (typeof reply === "string") return { ...base, content: [{ type: "text", text: reply }] };
  assertKnownKeys("A reply of a script", reply, REPLY);
  if (!("call" in reply)) return { ...base, ...reply };
  const said: Block[] = reply.say === undefined ? [] : [{ type: "text", text: reply.say }];
  const calls = reply.call.map(
    (ask, index): Block => ({
      type: "toolCall",
      id: ask.id ?? `call-${n}-${index}`,
      name: ask.name,
      arguments: ask.with ?? {},
    }),
  );
  return { ...base, content: [...said, ...calls], stopReason: "tool_calls" };
}

export const failure = (
  errorClass: NonNullable<ModelResult["error"]>["class"],
  more: Partial<NonNullable<ModelResult["error"]>> = {},
): Partial<ModelResult> => {
  assertKnownKeys("failure()", more, { class: true, message: true, retryAfterMs: true });
  return {
    content: [],
    stopReason: errorClass === "aborted" ? "aborted" : "error",
    error: { class: errorClass, message: `${errorClass} error`, ...more },
  };
};

/** Streams `said`, then answers when `until` resolves, or with class `aborted` as soon as the signal aborts. */
export async function stall(call: ModelCall, until: Promise<Reply>, said = ""): Promise<Reply> {
  if (said !== "") call.onEvent({ type: "text", delta: said });
  const content: Block[] = said === "" ? [] : [{ type: "text", text: said }];
  const aborted = new Promise<Reply>((resolve) => {
    const end = (): void => resolve({ ...failure("aborted"), content });
    if (call.signal.aborted) end();
    call.signal.addEventListener("abort", end, { once: true });
  });
  return Promise.race([until, aborted]);
}

/** The text of the newest message of a role. */
export function lastText(request: ModelRequest, role: "user" | "tool" | "assistant" = "user"): string {
  const message = request.messages.findLast((one) => one.role === role);
  return (message?.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
}

export const echo: Script = ({ request }) => `answer to ${lastText(request)}`;

/** A script that returns these answers in turn; the last one repeats. */
export function inTurn(...replies: readonly (Reply | Script)[]): Script {
  let next = 0;
  return (call) => {
    const reply = replies[Math.min(next++, replies.length - 1)] as Reply | Script;
    return typeof reply === "function" ? reply(call) : reply;
  };
}

export interface ScriptedModelDeps {
  readonly activity: Activity;
  /** Every request, in order. */
  readonly requests: ModelRequest[];
  /** Each request's messages as text. */
  readonly sentBytes: string[];
  readonly price: CallPrice | undefined;
  /** Read at each call, so that a test can change the script. */
  script(): Script;
}

/** The scripted model as one process sees it. */
export function scriptedModel(process: TestProcess, deps: ScriptedModelDeps): Model {
  return {
    call: (request, signal, onEvent) =>
      whileAlive(process, async () => {
        deps.activity.count += 1;
        deps.requests.push(request);
        deps.sentBytes.push(JSON.stringify(request.messages));
        const n = deps.requests.length;
        return modelResult(await deps.script()({ request, signal, onEvent, n }), n);
      }),
    price: async () => deps.price,
  };
}
