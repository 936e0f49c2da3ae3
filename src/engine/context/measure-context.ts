/**
 * How large a context is and how large it may be. A run resolves its model, prompt, tools and limits once (`setupOf`); the
 * limits stay with the context, so that the checks between runs cost nothing.
 */
import {
  type ContextLimits,
  contextThresholds,
  DEFAULT_CONTEXT_LIMITS,
} from "../../core/history/compaction-settings.ts";
import type { ModelTool } from "../../core/ports/model.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { isMarkedPrompt, markedBody } from "../people/untrusted.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { ContextBounds, LiveRun, RunSetup } from "../runtime/live-run.ts";
import { modelTool } from "../runtime/model-call.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { EMPTY_SIZE, estimateText, estimateTools, tokensIn } from "./compaction/estimate-tokens.ts";

export interface MeasuredContext extends ContextBounds {
  readonly tokens: number;
  /** The estimated part of the instructions and tools. */
  readonly overhead: number;
}

/** A context below this share of the critical limit is small. */
const SMALL_SHARE = 0.25;

/** The setup of a run: resolved by the first call, the same object afterwards. */
export async function setupOf(ports: RunPorts, lease: AgentLease, run: LiveRun): Promise<RunSetup> {
  if (run.setup) return run.setup;
  const agent = lease.record;
  const overrides = run.body.wishes;
  const { system, report, skillsSnapshot, ...chosen } = await ports.resolveModel(agent, overrides, run.settings);
  const choice = overrides?.temperature === undefined ? chosen : { ...chosen, temperature: overrides.temperature };
  const limits = (await ports.contextLimits?.(agent, overrides, choice, run.settings)) ?? DEFAULT_CONTEXT_LIMITS;
  const bounds: ContextBounds = { limits, thresholds: contextThresholds(limits) };
  const { tools, tokens } = withCallerTools(run, wireTools(toolsFor(ports, agent, limits)));
  const overhead = estimateText(system) + tokens;
  const { context } = lease;
  context.overhead = overhead;
  // A model that answers this run only does not limit the context between runs.
  context.bounds = overrides?.model === undefined ? bounds : undefined;
  run.setup = { ...bounds, choice, system, report, skillsSnapshot, tools, overhead };
  // A part of the prompt is read like any other text. The commit of the answer stores the mark, with the agent's state.
  run.body = markedBody(run.body, isMarkedPrompt(report));
  return run.setup;
}

/** After the run has found tools: its next call is sent them too. */
export function renewTools(ports: RunPorts, lease: AgentLease, run: LiveRun): void {
  if (!run.setup) return;
  const { tools, tokens } = withCallerTools(run, wireTools(toolsFor(ports, lease.record, run.setup.limits)));
  const overhead = estimateText(run.setup.system) + tokens;
  lease.context.overhead = overhead;
  run.setup = { ...run.setup, tools, overhead };
}

/** The caller's tools come last; one takes the place of the agent's tool of the same name. */
function withCallerTools({ body }: LiveRun, own: WireTools): WireTools {
  const given = body.wishes?.tools ?? [];
  if (given.length === 0) return own;
  const tools = [...own.tools.filter(({ name }) => !given.some((tool) => tool.name === name)), ...given];
  return { tools, tokens: estimateTools(tools) };
}

const toolsFor = (
  { tools }: RunPorts,
  agent: AgentLease["record"],
  { contextWindow }: ContextLimits,
): readonly Tool[] => tools.shown?.(agent, contextWindow) ?? tools.list(agent);

/** The context of a run. */
export async function measureForRun(ports: RunPorts, lease: AgentLease, run: LiveRun): Promise<MeasuredContext> {
  const { limits, thresholds, overhead } = await setupOf(ports, lease, run);
  return measured(lease, { limits, thresholds }, overhead);
}

/** The context between runs, with the limits of the last run. Resolves them if there was none. */
export async function measureAtRest(ports: RunPorts, lease: AgentLease): Promise<MeasuredContext> {
  const { context, record } = lease;
  const settings = ports.settings.current;
  if (!context.bounds) {
    const limits = (await ports.contextLimits?.(record, undefined, undefined, settings)) ?? DEFAULT_CONTEXT_LIMITS;
    context.bounds = { limits, thresholds: contextThresholds(limits) };
  }
  const bounds = context.bounds;
  if (context.overhead === undefined) {
    const { counted, all } = (await sizeOf(lease)) ?? EMPTY_SIZE;
    // The prompt of a small context is not put together only to be measured: the next run does it.
    if (counted === undefined && all >= bounds.thresholds.critical * SMALL_SHARE) {
      const { system } = await ports.resolveModel(record, undefined, settings);
      context.overhead = estimateText(system) + wireTools(toolsFor(ports, record, bounds.limits)).tokens;
    }
  }
  return measured(lease, bounds, context.overhead ?? 0);
}

async function measured(lease: AgentLease, bounds: ContextBounds, overhead: number): Promise<MeasuredContext> {
  const size = (await sizeOf(lease)) ?? EMPTY_SIZE;
  return { ...bounds, overhead, tokens: tokensIn(size, overhead) };
}

async function sizeOf(lease: AgentLease): Promise<AgentLease["context"]["size"]> {
  if (!lease.context.size) await lease.messages();
  return lease.context.size;
}

interface WireTools {
  readonly tools: readonly ModelTool[];
  readonly tokens: number;
}

const known = new WeakMap<readonly Tool[], WireTools>();

/** A list of tools as a model is sent it, and its size. Made once per list: hosts return the same list again. */
function wireTools(list: readonly Tool[]): WireTools {
  let made = known.get(list);
  if (!made) {
    const tools = list.map(modelTool);
    made = { tools, tokens: estimateTools(tools) };
    known.set(list, made);
  }
  return made;
}
