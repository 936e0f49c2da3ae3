/**
 * Reports runs, model calls and tool calls to OpenTelemetry through its API alone: nothing is recorded unless the process
 * registers an SDK (`node --import ./otel.mjs …`). Loaded only if telemetry is on. All attribute names are in this file,
 * because the conventions for generative AI still change.
 */
import { type Context, context, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Model } from "../../core/ports/model.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import type { RunEvent, RunEvents } from "../../engine/runtime/run-events.ts";
import { readVersion } from "./version.ts";

const NAMES = {
  run: "invoke_agent",
  call: "chat",
  tool: "execute_tool",
  operation: "gen_ai.operation.name",
  agent: "gen_ai.agent.id",
  conversation: "gen_ai.conversation.id",
  provider: "gen_ai.provider.name",
  wanted: "gen_ai.request.model",
  model: "gen_ai.response.model",
  finish: "gen_ai.response.finish_reasons",
  input: "gen_ai.usage.input_tokens",
  output: "gen_ai.usage.output_tokens",
  toolName: "gen_ai.tool.name",
  toolCall: "gen_ai.tool.call.id",
  error: "error.type",
  runId: "rookery.run.id",
  attempt: "rookery.run.attempt",
  outcome: "rookery.run.outcome",
} as const;

export interface Telemetry {
  model(model: Model): Model;
  tools(host: ToolHost): ToolHost;
  /** Follows runs. `sessionOf` returns the session of an agent's live run. Returns a function that stops. */
  follow(events: RunEvents, sessionOf: (agentId: AgentId) => string | undefined): () => void;
}

export function openTelemetry(): Telemetry {
  const tracer = trace.getTracer("rookery", readVersion());
  const runs = new Map<RunId, { readonly span: Span; readonly agentId: AgentId }>();
  let sessionOf: (agentId: AgentId) => string | undefined = () => undefined;
  const inside = (span: Span | undefined) => (span ? trace.setSpan(context.active(), span) : context.active());
  const ofSession = (sessionId: string): Span | undefined =>
    [...runs.values()].find(({ agentId }) => sessionOf(agentId) === sessionId)?.span;

  const onEvent = (event: RunEvent): void => {
    const { agentId, runId, attempt } = event;
    const known = runs.get(runId);
    if (!known && event.type !== "end") {
      const attributes = {
        [NAMES.operation]: NAMES.run,
        [NAMES.agent]: agentId,
        [NAMES.runId]: runId,
        [NAMES.attempt]: attempt,
      };
      runs.set(runId, { agentId, span: tracer.startSpan(NAMES.run, { kind: SpanKind.INTERNAL, attributes }) });
      return;
    }
    if (!known || event.type !== "end") return;
    const { outcome, meta } = event.result;
    known.span.setAttribute(NAMES.outcome, outcome);
    if (meta.error) fail(known.span, meta.error.kind);
    known.span.end();
    runs.delete(runId);
  };

  const traced = toolTracer(tracer, (runId) => inside(runs.get(runId)?.span));
  return {
    model: (model) => tracedModel(tracer, model, (sessionId) => inside(ofSession(sessionId))),
    tools: (host) => ({
      list: (agent) => host.list(agent),
      shown: (agent, contextWindow) => host.shown?.(agent, contextWindow) ?? host.list(agent),
      find: (agent, name) => {
        const tool = host.find(agent, name);
        return tool && traced(tool);
      },
      known: (name) => host.known?.(name),
    }),
    follow(events, session) {
      sessionOf = session;
      const stop = events.listenToOwn(onEvent);
      return () => {
        stop();
        for (const { span } of runs.values()) span.end();
        runs.clear();
      };
    },
  };
}

type ParentOf<Key> = (key: Key) => Context;

function tracedModel(tracer: Tracer, model: Model, parentOf: ParentOf<string>): Model {
  return {
    price: model.price && ((choice) => model.price?.(choice) ?? Promise.resolve(undefined)),
    async call(request, signal, onEvent) {
      const attributes = {
        [NAMES.operation]: NAMES.call,
        [NAMES.wanted]: request.model,
        [NAMES.conversation]: request.sessionId,
      };
      const parent = parentOf(request.sessionId);
      const span = tracer.startSpan(`${NAMES.call} ${request.model}`, { kind: SpanKind.CLIENT, attributes }, parent);
      const result = await context.with(trace.setSpan(parent, span), () => model.call(request, signal, onEvent));
      span.setAttributes({
        [NAMES.provider]: result.provider,
        [NAMES.model]: result.model,
        [NAMES.finish]: [result.stopReason],
        [NAMES.input]: result.usage?.input,
        [NAMES.output]: result.usage?.output,
      });
      if (result.error) fail(span, result.error.class);
      span.end();
      return result;
    },
  };
}

/** Wraps a tool once: the same tool gives the same wrapper. */
function toolTracer(tracer: Tracer, parentOf: ParentOf<RunId>): (tool: Tool) => Tool {
  const wrapped = new WeakMap<Tool, Tool>();
  return (tool) => {
    const before = wrapped.get(tool);
    if (before) return before;
    const made: Tool = {
      ...tool,
      async execute(input, toolContext) {
        const attributes = {
          [NAMES.operation]: NAMES.tool,
          [NAMES.toolName]: tool.name,
          [NAMES.toolCall]: toolContext.callId,
        };
        const parent = parentOf(toolContext.runId);
        const span = tracer.startSpan(`${NAMES.tool} ${tool.name}`, { attributes }, parent);
        try {
          const output = await context.with(trace.setSpan(parent, span), () => tool.execute(input, toolContext));
          if (output.isError) fail(span, "tool_error");
          return output;
        } catch (error) {
          fail(span, (error as Error).name);
          throw error;
        } finally {
          span.end();
        }
      },
    };
    wrapped.set(tool, made);
    return made;
  };
}

/** Traces contain no text of messages: conversations are private. */
function fail(span: Span, type: string): void {
  span.setAttribute(NAMES.error, type);
  span.setStatus({ code: SpanStatusCode.ERROR, message: type });
}
