/**
 * Judges the tool calls of a run: what each of them is about to do, and who for, by the rights of now (L13, M30). Everyone on the
 * run's way must be allowed every effect of a call.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { everyone, isUntrusted } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Gate, JudgedCall, JudgedRun, Judgement } from "../../core/ports/gate.ts";
import type { EffectContext, Tool, ToolHost } from "../../core/ports/tool.ts";
import { ALLOWED, decide, type Effect, type Situation, type Standing, stricter } from "../../core/rights/decide.ts";
import type { ToolPolicy } from "../../core/rights/kind-rules.ts";
import type { CallRecord, RunBody } from "../../core/run/run.ts";
import { workedFor } from "../budgets/spender.ts";
import type { Directory } from "../people/directory.ts";

/** What the configuration decides about rights. Read at each use. */
export interface RightsSettings {
  policyOf?(profile: string): ToolPolicy | undefined;
  /** Whether children may have children of their own. */
  nesting?(): boolean;
}

export interface GateParts extends RightsSettings {
  readonly tools: ToolHost;
  readonly directory: Pick<Directory, "now">;
  /** Who an agent acts for that began a run before runs named their people. Undefined: for no one. */
  personOf(agent: AgentRecord): Promise<string | undefined>;
}

export const gateOf = (parts: GateParts): Gate => ({
  async judge(agent, run, asked): Promise<Judgement> {
    // Everything that takes time comes first: the rights are read last.
    const found = await Promise.all(asked.map((call) => effectsOf(parts.tools, agent, run, call)));
    const people = await peopleOn(parts, agent, run.body);
    const { revision, standing, personOf } = await parts.directory.now();
    const situation = situationOf(parts, agent, run.body, people.map(standing));
    const owned = (effect: Effect): Effect => (effect.of ? { ...effect, of: personOf(effect.of) } : effect);
    const [person = NO_ONE] = situation.people.map((one) => one.person);
    const calls = found.map(({ call, effects }) => judged(call, effects.map(owned), { ...situation, person }));
    return { revision, calls };
  },
});

/** In the audit log, for a run that acts for no one. */
export const NO_ONE = "no one";

function judged(
  call: CallRecord,
  effects: readonly Effect[],
  { person, ...situation }: Situation & { readonly person: string },
): JudgedCall {
  const decision = effects.map((effect) => decide(effect, situation)).reduce(stricter, ALLOWED);
  const acts = effects.some(
    ({ rights, target, of, needsYes }) => needsYes || actsBy(rights) || (target !== undefined && of !== person),
  );
  return { call, person, effects, decision, acts };
}

/** Whether rights are for more than reading. */
const actsBy = (rights: Effect["rights"]): boolean => rights.some((right) => right !== "read");

/** Everyone whose rights count for a run. Empty: no one, so nothing is allowed. */
async function peopleOn(
  { personOf }: GateParts,
  agent: AgentRecord,
  { behalf }: Pick<RunBody, "behalf">,
): Promise<readonly PersonId[]> {
  if (behalf) return everyone(behalf);
  const person = await personOf(agent);
  return person === undefined ? [] : [person as PersonId];
}

export function situationOf(
  { policyOf, nesting }: RightsSettings,
  { descriptor, profile, state }: AgentRecord,
  { trigger, behalf }: Pick<RunBody, "trigger" | "behalf">,
  people: readonly Standing[],
): Situation {
  const { type: kind } = descriptor;
  return {
    people,
    kind,
    profile: policyOf?.(profile),
    nesting: nesting?.() ?? false,
    tag: descriptor.type === "system" ? descriptor.tag : undefined,
    inherited: state.inheritedTools,
    untrusted: (behalf !== undefined && isUntrusted(behalf)) || (state.untrusted ?? state.madeUntrusted ?? false),
    headless: trigger !== undefined || kind === "cron" || kind === "heartbeat",
  };
}

/** What a call is about to do. A call that no tool takes, or with arguments that its tool refuses, does nothing. */
async function effectsOf(tools: ToolHost, agent: AgentRecord, run: JudgedRun, call: CallRecord) {
  const tool = tools.known?.(call.name) ?? tools.find(agent, call.name);
  return { call, effects: tool ? await toolEffects(tool, agent, run, call) : [] };
}

async function toolEffects(
  tool: Tool,
  agent: AgentRecord,
  { id: runId, body }: JudgedRun,
  { callId, arguments: given }: CallRecord,
): Promise<readonly Effect[]> {
  const { name, renamed, rights } = tool;
  const own: Effect = { action: renamed ?? name, rights };
  if (!tool.effects && !tool.needsYes) return [own];
  const input = await tool.input.safeParseAsync(given);
  if (!input.success) return [own];
  const about = { agent, agentId: agent.id, runId, callId, behalf: body.behalf };
  const context: EffectContext = { ...about, ...workedFor(agent, body) };
  const named = (await tool.effects?.(input.data, context)) ?? [];
  const needsYes = await needsYesOf(tool, input.data, context);
  return [{ ...own, needsYes }, ...named.map((effect) => ({ ...effect, tool: own.action }))];
}

async function needsYesOf(tool: Tool, input: unknown, context: EffectContext): Promise<true | undefined> {
  try {
    return (await tool.needsYes?.(input, context)) ? true : undefined;
  } catch {
    return true;
  }
}
