import { type Context, context, type Span, type SpanOptions, type TracerProvider, trace } from "@opentelemetry/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { InvalidInputError } from "../../core/errors.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import { silentLog } from "../../core/ports/log.ts";
import type { ModelResult } from "../../core/ports/model.ts";
import type { Tool, ToolContext } from "../../core/ports/tool.ts";
import type { RunResult } from "../../core/run/run.ts";
import { RunEvents } from "../../engine/runtime/run-events.ts";
import { openTelemetry } from "./telemetry.ts";

interface Recorded {
  readonly name: string;
  readonly parent: string | undefined;
  readonly attributes: Record<string, unknown>;
  ended: boolean;
}

const spans: (Recorded & { span: Span })[] = [];
/** A minimal SDK that records spans. */
const provider: TracerProvider = {
  getTracer: () => ({
    startSpan(name: string, options: SpanOptions = {}, at: Context = context.active()) {
      const parent = trace.getSpan(at);
      const recorded: Recorded = {
        name,
        parent: spans.find(({ span }) => span === parent)?.name,
        attributes: { ...options.attributes },
        ended: false,
      };
      const span = {
        setAttribute: (key: string, value: unknown) => Object.assign(recorded.attributes, { [key]: value }),
        setAttributes: (more: object) => void Object.assign(recorded.attributes, more),
        setStatus: () => undefined,
        end: () => Object.assign(recorded, { ended: true }),
        spanContext: () => ({ traceId: "1".repeat(32), spanId: "1".repeat(16), traceFlags: 1 }),
      } as unknown as Span;
      spans.push(Object.assign(recorded, { span }));
      return span;
    },
    startActiveSpan: () => undefined as never,
  }),
};

beforeAll(() => trace.setGlobalTracerProvider(provider));
afterAll(() => trace.disable());

const about = { agentId: "a1" as AgentId, runId: "r1" as RunId, attempt: 1, step: 1 };
const answer: ModelResult = {
  content: [{ type: "text", text: "secret answer" }],
  stopReason: "stop",
  api: "x",
  provider: "local",
  model: "fake",
  usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 },
};
const request = { model: "local/fake", system: "secret", messages: [], tools: [], sessionId: "s1" };

describe("telemetry", () => {
  it("reports runs, model calls and tools, each inside its run, without any text", async () => {
    const telemetry = openTelemetry();
    const events = new RunEvents(silentLog);
    const stop = telemetry.follow(events, (agentId) => (agentId === "a1" ? "s1" : undefined));
    const model = telemetry.model({ call: async () => answer, price: async () => undefined });
    const tool = {
      name: "note",
      async execute() {
        throw new InvalidInputError("secret");
      },
    } as unknown as Tool;
    const tools = telemetry.tools({ list: () => [tool], find: () => tool });
    events.emit(about, { type: "start" });
    expect(await model.call(request, AbortSignal.abort(), () => {})).toBe(answer);
    expect(model.price).toBeDefined();
    const found = tools.find({} as AgentRecord, "note");
    expect(tools.find({} as AgentRecord, "note")).toBe(found);
    await expect(
      found?.execute({ text: "secret words" }, { runId: "r1", callId: "c1" } as ToolContext),
    ).rejects.toThrow("secret");
    const result = {
      runId: "r1",
      agentId: "a1",
      outcome: "ok",
      payloads: [{ text: "secret" }],
      meta: {},
    } as unknown as RunResult;
    events.emit(about, { type: "end", result });
    stop();
    expect(spans.map(({ name, parent, ended }) => [name, parent, ended])).toEqual([
      ["invoke_agent", undefined, true],
      ["chat local/fake", "invoke_agent", true],
      ["execute_tool note", "invoke_agent", true],
    ]);
    expect(spans[1]?.attributes).toMatchObject({ "gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 5 });
    expect(spans[2]?.attributes).toMatchObject({ "error.type": "InvalidInputError", "gen_ai.tool.call.id": "c1" });
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain("secret");
  });
});
