/**
 * Judges the tool calls of a run: what each of them is about to do, and who for, by the rights of now (L13, M30). Everyone on the
 * run's way must be allowed every effect of a call.
 */
import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import type { RunId } from "../../core/ids.ts";
import { everyone, isUntrusted } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Gate, JudgedCall, JudgedRun, Judgement } from "../../core/ports/gate.ts";
import type { EffectContext, Tool, ToolHost } from "../../core/ports/tool.ts";
import { ALLOWED, decide, type Effect, type Situation, type Standing, stricter } from "../../core/rights/decide.ts";
import type { ToolPolicy } from "../../core/rights/kind-rules.ts";
import type { Place } from "../../core/rights/match-rule.ts";
import { hasStandingYes, standingYes } from "../../core/rights/standing-yes.ts";
import type { CallRecord, RunBody } from "../../core/run/run.ts";
import { workedFor } from "../budgets/spender.ts";
import type { Directory } from "../people/directory.ts";
import { type Around, type ConfiguredRules, configuredRules } from "./configured-rules.ts";

/** What the configuration says about rights now. */
export interface RightsSettings {
  policyOf(profile: string): ToolPolicy | undefined;
  /** Whether children may have children of their own. */
  readonly nesting: boolean;
  /** The rules that count for an agent. */
  readonly rules: ConfiguredRules;
}

export const rightsOf = (settings: Pick<Settings, "profiles" | "permissions" | "subagents">): RightsSettings => ({
  policyOf: (profile) => settings.profiles[profile]?.tools,
  nesting: settings.subagents.maxDepth > 1,
  rules: configuredRules(settings),
});

interface GateParts {
  /** Read at each judgement (M37). */
  readonly settings: Current<Settings>;
  readonly tools: ToolHost;
  readonly directory: Pick<Directory, "now">;
  /** The directories that the paths in rules are relative to. */
  placeOf?(agent: AgentRecord): Promise<Place>;
  /** The names of the nodes of the cluster. */
  nodeNames?(): Promise<readonly string[]>;
  /** The agents that started this one, nearest first, as the store has them now. */
  ancestorsOf?(agent: AgentRecord): Promise<readonly AgentRecord[]>;
  /** Who an agent acts for that began a run before runs named their people. Undefined: for no one. */
  personOf(agent: AgentRecord): Promise<string | undefined>;
  /** The digest that a yes to a call covers. Absent: no yes is for always to exactly one call. */
  digestOf?(agent: AgentRecord, call: CallRecord, effects: readonly Effect[], runId: RunId): Promise<string>;
}

export const gateOf = (parts: GateParts): Gate => ({
  async judge(agent, run, asked): Promise<Judgement> {
    // Everything that takes time comes first: the rights are read last. Only digests are computed after them, for the few calls
    // that need one; if rights change before the commit of these calls, it is refused.
    const found = await Promise.all(asked.map((call) => effectsOf(parts.tools, agent, run, call)));
    const people = await peopleOn(parts, agent, run.body);
    const around = await aroundOf(parts, agent, found);
    const { revision, standing, personOf } = await parts.directory.now();
    // After the revision: a rule that a parent gets later moves it, and the commit of these calls is refused.
    const ancestors = await parts.ancestorsOf?.(agent);
    const situation = situationOf(rightsOf(parts.settings.current), agent, run.body, people.map(standing), {
      ...around,
      ancestors,
    });
    const owned = (effect: Effect): Effect => (effect.of ? { ...effect, of: personOf(effect.of) } : effect);
    const [person = NO_ONE] = situation.people.map((one) => one.person);
    const judge = async ({ call, effects: named }: (typeof found)[number]): Promise<JudgedCall> => {
      const effects = named.map(owned);
      const first = judged(call, effects, { ...situation, person });
      if (first.decision.verdict === "allow" || !parts.digestOf) return first;
      if (!situation.people.some(({ grants }) => hasStandingYes(grants, call.name))) return first;
      const yes = standingYes(call.name, await parts.digestOf(agent, call, effects, run.id));
      return judged(call, effects, { ...situation, person, yes });
    };
    return { revision, calls: await Promise.all(found.map(judge)) };
  },
});

/** Only what the effects need is read. */
async function aroundOf(
  { settings, placeOf, nodeNames }: GateParts,
  agent: AgentRecord,
  found: readonly { readonly effects: readonly Effect[] }[],
): Promise<Around> {
  const details = found.flatMap(({ effects }) => effects.flatMap(({ detail }) => detail?.kind ?? []));
  if (details.length === 0) return {};
  const rules = configuredRules(settings.current);
  return {
    place: details.includes("path") ? await placeOf?.(agent) : undefined,
    nodes: rules.nodeOf(agent) === undefined ? undefined : await nodeNames?.(),
  };
}

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

/** Whether no one waits for a run. */
export const isHeadless = ({ descriptor }: AgentRecord, { trigger }: Pick<RunBody, "trigger">): boolean =>
  trigger !== undefined || descriptor.type === "cron" || descriptor.type === "heartbeat";

export function situationOf(
  { policyOf, nesting, rules }: Partial<RightsSettings>,
  agent: AgentRecord,
  { trigger, behalf, skillLimits }: Pick<RunBody, "trigger" | "behalf" | "skillLimits">,
  people: readonly Standing[],
  around?: Around,
): Situation {
  const { descriptor, profile, state } = agent;
  const { type: kind } = descriptor;
  return {
    people,
    kind,
    profile: policyOf?.(profile),
    nesting: nesting ?? false,
    tag: descriptor.type === "system" ? descriptor.tag : undefined,
    bounds: around?.ancestors?.flatMap((one) => (one.profile === profile ? [] : (policyOf?.(one.profile) ?? []))),
    inherited: state.inheritedTools,
    untrusted: (behalf !== undefined && isUntrusted(behalf)) || (state.untrusted ?? state.madeUntrusted ?? false),
    skills: skillLimits,
    headless: isHeadless(agent, { trigger }),
    rules: rules?.partiesOf(
      agent,
      people.map(({ person }) => person),
      around,
    ),
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
  const effects = named.map((effect) => ({ ...effect, tool: own.action }));
  // An effect that says exactly what it touches is judged with its right in place of the whole tool.
  const exact = effects.flatMap((effect) => (effect.detail && effect.action === own.action ? effect.rights : []));
  const rest = rights.filter((right) => !exact.includes(right));
  return [{ ...own, rights: rest, needsYes }, ...effects];
}

async function needsYesOf(tool: Tool, input: unknown, context: EffectContext): Promise<true | undefined> {
  try {
    return (await tool.needsYes?.(input, context)) ? true : undefined;
  } catch {
    return true;
  }
}
