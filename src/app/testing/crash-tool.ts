/**
 * Proves a tool against crashes: one call of it is made again and again, each time with the process killed before or after another
 * commit of the run, and continued by a new process on the same store.
 */
import { assertKnownKeys } from "../../core/known-keys.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { TOOL_KEYS } from "../library/define-tool.ts";
import { TestEngine } from "./engine.ts";
import { lastText } from "./model.ts";
import type { ToolSpec } from "./tools.ts";

export interface ToolCrash {
  /** The commit at which the process was killed, and whether it had been applied. */
  readonly at: string;
  readonly moment: "before" | "after";
  /** How often `execute` was called, in both processes together. */
  readonly executions: number;
  /** The `effectKey` of each execution: the same for a repeated call, another one for each crash. */
  readonly effectKeys: readonly string[];
  /** What the model read as the result of the call in the end. */
  readonly result: string;
  /** What the person read: an answer, exactly once. */
  readonly answers: readonly string[];
}

/** One entry per crash, in the order of the commits. Each crash has a store and a clock of its own. */
export async function crashTool(tool: Tool, input: object): Promise<readonly ToolCrash[]> {
  assertKnownKeys("crashTool()", tool, TOOL_KEYS);
  const sites = (await callOnce(tool, input)).sites;
  const crashes: ToolCrash[] = [];
  // The first commit accepts the message: before it there is nothing to continue.
  for (let nth = 2; nth <= sites.length; nth++) {
    for (const moment of ["before", "after"] as const) {
      const { engine } = await callOnce(tool, input, { nth, moment });
      const effectKeys = engine.executions.map(({ effectKey }) => effectKey);
      const result = engine.requests.map((request) => lastText(request, "tool")).findLast((text) => text !== "") ?? "";
      const answers = engine.shown();
      crashes.push({ at: sites[nth - 1] ?? "", moment, executions: effectKeys.length, effectKeys, result, answers });
    }
  }
  return crashes;
}

/** Long enough for every retry that a crash leads to. */
const AFTERWARDS_MS = 300_000;

async function callOnce(
  tool: Tool,
  input: object,
  kill?: { readonly nth: number; readonly moment: "before" | "after" },
): Promise<{ readonly engine: TestEngine; readonly sites: readonly string[] }> {
  const spec: ToolSpec = { ...tool, execute: (value, context) => tool.execute(value, context) };
  const asks = { call: [{ name: tool.name, with: input as Record<string, unknown> }] };
  const engine = await TestEngine.open({ tools: { [tool.name]: spec }, seed: kill && `${kill.nth}${kill.moment}` });
  // By the request, not in turn: a new process may repeat a request of the old one.
  engine.script = ({ request }) => (lastText(request, "tool") === "" ? asks : "done");
  const sites: string[] = [];
  engine.onCommit = ({ site }) => {
    sites.push(site);
    return kill && sites.length === kill.nth ? `die-${kill.moment}` : "go";
  };
  await engine.say("go");
  await engine.settle();
  if (!engine.alive) await engine.restart();
  await engine.advance(AFTERWARDS_MS);
  return { engine, sites };
}
