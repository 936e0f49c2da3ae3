/** Tools that record their calls. */
import { z } from "zod";
import type { RunId } from "../../core/ids.ts";
import { assertKnownKeys, type KeyTable } from "../../core/known-keys.ts";
import type { Tool, ToolContext, ToolHost, ToolOutput } from "../../core/ports/tool.ts";
import type { Right } from "../../core/rights/right.ts";
import type { ReplayPolicy } from "../../core/run/run.ts";
import { TOOL_KEYS } from "../library/define-tool.ts";
import { type Activity, type TestProcess, whileAlive } from "./process.ts";

export interface Execution {
  readonly name: string;
  readonly input: unknown;
  readonly callId: string;
  readonly effectKey: string;
  readonly runId: RunId;
}

export interface ToolSpec {
  readonly replay?: ReplayPolicy;
  readonly parallel?: boolean;
  readonly maxOutput?: number;
  readonly rights?: readonly Right[];
  readonly input?: z.ZodType;
  readonly parameters?: Tool["parameters"];
  readonly renamed?: string;
  readonly effects?: Tool["effects"];
  readonly needsYes?: Tool["needsYes"];
  readonly execute?: (
    input: Record<string, unknown>,
    context: ToolContext,
  ) => ToolOutput | string | Promise<ToolOutput | string>;
}

const SPEC: KeyTable<ToolSpec> = {
  replay: true,
  parallel: true,
  maxOutput: true,
  rights: true,
  input: true,
  parameters: true,
  renamed: true,
  effects: true,
  needsYes: true,
  execute: true,
};

/** Throws `InvalidInputError` for a key that is neither of a spec nor of a whole tool. */
export function assertSpecs(specs: Readonly<Record<string, ToolSpec | (ToolSpec & Tool)>>): void {
  for (const [name, spec] of Object.entries(specs))
    assertKnownKeys(`The tool ${name}`, spec, { ...TOOL_KEYS, ...SPEC });
}

/** A tool as one process sees it. */
export function recordingTool(
  name: string,
  spec: ToolSpec,
  process: TestProcess,
  deps: { readonly activity: Activity; readonly executions: Execution[] },
): Tool {
  return {
    name,
    description: `the tool ${name}`,
    input: spec.input ?? z.looseObject({}),
    parameters: spec.parameters,
    rights: spec.rights ?? [],
    replay: spec.replay ?? "safe",
    parallel: spec.parallel ?? false,
    maxOutput: spec.maxOutput ?? 4_000,
    renamed: spec.renamed,
    effects: spec.effects,
    needsYes: spec.needsYes,
    execute: (input, context) =>
      whileAlive(process, async () => {
        deps.activity.count += 1;
        const { callId, effectKey, runId } = context;
        deps.executions.push({ name, input, callId, effectKey, runId });
        const output = (await spec.execute?.(input as Record<string, unknown>, context)) ?? `${name} done`;
        return typeof output === "string" ? { content: [{ type: "text", text: output }] } : output;
      }),
  };
}

export function toolHost(tools: readonly Tool[]): ToolHost {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return { list: () => tools, find: (_agent, name) => byName.get(name) };
}

/** A call that stays open until the test ends it. */
export interface HeldCall {
  /** Resolves when the tool is called. */
  readonly started: Promise<ToolContext>;
  release(output?: ToolOutput | string): void;
  fail(error: Error): void;
}

/**
 * Tools of a test: declares them, and holds a call open where a test needs that moment. Pass `specs` as the engine's `tools`;
 * the engine records every call in `executions`. To crash during a call, hold it and call `engine.crash()`.
 */
export class TestTools {
  readonly specs: Readonly<Record<string, ToolSpec>>;
  readonly #holds = new Map<string, ((context: ToolContext) => Promise<ToolOutput | string>)[]>();

  constructor(specs: Readonly<Record<string, ToolSpec>>) {
    assertSpecs(specs);
    const held = ([name, spec]: [string, ToolSpec]): [string, ToolSpec] => [
      name,
      {
        ...spec,
        execute: (input, context) =>
          this.#holds.get(name)?.shift()?.(context) ?? spec.execute?.(input, context) ?? `${name} done`,
      },
    ];
    this.specs = Object.fromEntries(Object.entries(specs).map(held));
  }

  /** Holds the next call of this tool; a second `hold` holds the one after it. */
  hold(name: string): HeldCall {
    const started = Promise.withResolvers<ToolContext>();
    const ended = Promise.withResolvers<ToolOutput | string>();
    const call = (context: ToolContext): Promise<ToolOutput | string> => {
      started.resolve(context);
      return ended.promise;
    };
    this.#holds.set(name, [...(this.#holds.get(name) ?? []), call]);
    return {
      started: started.promise,
      release: (output = `${name} done`) => ended.resolve(output),
      fail: (error) => ended.reject(error),
    };
  }
}
