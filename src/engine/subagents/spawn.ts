/**
 * Starts a child: checks in clawdbot's order (nesting, allow-list, model, thinking), then returns the ops that create the child.
 * They are committed with the tool's result, so a child exists only if its parent's history contains the spawn (M12).
 */
import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { InheritedExec } from "../../core/agent/exec-fields.ts";
import { THINKING_LEVELS } from "../../core/agent/patch-state.ts";
import { isSubagentSessionKey, normalizeAgentId } from "../../core/agent/session-key.ts";
import type { AgentState } from "../../core/agent/state.ts";
import { closestWord } from "../../core/closest-word.ts";
import type { Current } from "../../core/current.ts";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { nestedSpawnText } from "../../core/rights/kind-rules.ts";
import type { Op } from "../../core/store/change.ts";
import { assertMessageFits } from "../../core/text-limits.ts";
import { buildSubagentSystemPrompt } from "../context/prompt/subagent-prompt.ts";
import { seedAgent } from "../context/seed-agent.ts";
import { recipientOf } from "../inbox/accept.ts";
import { configuredRules } from "../rights/configured-rules.ts";
import { registerSubagentRun } from "./registry.ts";
import {
  allowedAgents,
  childModel,
  childThinking,
  profileNamed,
  profileNames,
  type SubagentParts,
} from "./settings.ts";
import { depthOf } from "./tree.ts";

interface SpawnPorts extends Pick<Ports, "store" | "ids" | "clock" | "tools"> {
  readonly settings: Current<Settings>;
  readonly parts: SubagentParts;
}

export interface SpawnRequest {
  /** The name of the tool, for error texts. */
  readonly tool: string;
  /** The agent that wants a child, and where its run's answer goes. */
  readonly requester: AgentRecord;
  readonly origin?: DeliveryContext;
  /** The person the requester's run works for; the child works for them too. */
  readonly person?: string;
  readonly task: string;
  readonly label?: string;
  /** The profile the child speaks as. Absent: the requester's. */
  readonly agentId?: string;
  readonly model?: string;
  readonly thinking?: string;
  /** 0: no separate limit. */
  readonly runTimeoutSeconds?: number;
  readonly cleanup?: "delete" | "keep";
  /** Absent: the parent's. */
  readonly permissions?: AgentState["permissions"];
}

export type SpawnResult =
  | {
      readonly status: "accepted";
      readonly childSessionKey: string;
      readonly runId: RunId;
      readonly modelApplied?: boolean;
      readonly warning?: string;
    }
  | { readonly status: "forbidden"; readonly error: string }
  | { readonly status: "error"; readonly error: string; readonly childSessionKey?: string; readonly runId?: string };

export interface Spawned {
  readonly result: SpawnResult;
  /** The ops that create the child; empty if it was refused. */
  readonly ops: readonly Op[];
  readonly childId?: AgentId;
}

const refused = (result: SpawnResult): Spawned => ({ result, ops: [] });
const forbidden = (error: string): Spawned => refused({ status: "forbidden", error });

export async function spawnSubagent(ports: SpawnPorts, request: SpawnRequest): Promise<Spawned> {
  const settings = ports.settings.current;
  const nested = await nestingRefusal(ports, settings, request);
  if (nested !== undefined) return forbidden(nested);

  const profile = normalizeAgentId(request.agentId?.trim() || request.requester.profile);
  const unwanted = profileRefusal(settings, request, profile);
  if (unwanted !== undefined) return forbidden(unwanted);
  const spelled = profileNamed(settings, profile);
  if (spelled === undefined) {
    const near = closestWord(profile, profileNames(settings));
    const hint = near === undefined ? "" : ` Did you mean "${near}"?`;
    return refused({ status: "error", error: `There is no agentId "${profile}" in the configuration.${hint}` });
  }

  const at = ports.clock.now();
  const uuid = ports.ids.uuid();
  const label = request.label?.trim() || undefined;
  const { requester: parent, origin } = request;
  const descriptor = { type: "subagent", id: uuid, parentAgentId: parent.id, name: label ?? "subagent" } as const;
  const seed = seedAgent(ports.ids, descriptor, at, spelled);
  const { sessionKey } = seed;

  const model = modelFor(ports, settings, request, profile);
  if (model?.error !== undefined) return refused({ status: "error", error: model.error, childSessionKey: sessionKey });
  const thinking = await thinkingFor(ports, settings, request, profile, model?.applied);
  if (thinking.error !== undefined) return refused({ status: "error", error: thinking.error });

  const runId = ports.ids.uuid() as RunId;
  const about = { task: request.task, label, childSessionKey: sessionKey };
  const state: AgentState = {
    ...seed.state,
    spawnedBy: parent.sessionKey,
    label,
    extraSystemPrompt: buildSubagentSystemPrompt({ ...about, requesterSessionKey: parent.sessionKey }),
    modelOverride: model?.applied,
    thinkingLevel: thinking.level,
    ...rightsOf(ports, settings, request, profile),
  };
  const timeoutSeconds = Math.floor(request.runTimeoutSeconds ?? 0);
  const wishes = timeoutSeconds > 0 ? { timeoutSeconds } : undefined;
  const body = { kind: "user", text: request.task, wishes, person: request.person } as const;
  assertMessageFits(body);
  const register = registerSubagentRun({
    ...about,
    runId,
    requesterSessionKey: parent.sessionKey,
    requesterOrigin: origin,
    requesterDisplayKey: displayKey(parent.sessionKey, settings.session.mainKey),
    cleanup: request.cleanup ?? "keep",
    childAgentId: seed.id,
    requesterAgentId: parent.id,
    createdAt: at,
  });
  return {
    result: {
      status: "accepted",
      childSessionKey: sessionKey,
      runId,
      modelApplied: model && model.applied !== undefined,
      warning: model?.warning,
    },
    ops: [
      { op: "message.post", to: recipientOf({ ...seed, state }), message: { body, asRun: runId, acceptedAt: at } },
      register,
    ],
    childId: seed.id,
  };
}

/** Why the requester may not have another child: nesting is off, too deep, or too many are active. */
async function nestingRefusal(
  { store }: SpawnPorts,
  { subagents: { maxDepth, maxChildren } }: Settings,
  { tool, requester }: SpawnRequest,
): Promise<string | undefined> {
  if (isSubagentSessionKey(requester.sessionKey)) {
    if (maxDepth <= 1) return nestedSpawnText(tool);
    const depth = await depthOf(store, requester);
    if (depth >= maxDepth) return `${tool} is not allowed at this depth (current depth: ${depth}, max: ${maxDepth})`;
  }
  const open = await store.openSubagentRuns(requester.sessionKey);
  if (open < maxChildren) return undefined;
  return `${tool} has reached max active children for this session (${open}/${maxChildren})`;
}

/** An agent may always start children under its own profile; under another one only if its profile allows it. */
function profileRefusal(settings: Settings, { tool, requester }: SpawnRequest, profile: string): string | undefined {
  const own = normalizeAgentId(requester.profile);
  if (profile === own) return undefined;
  const listed = allowedAgents(settings, own);
  if (listed.includes("*")) return undefined;
  const allowed = [...new Set(listed.filter((name) => name !== "").map(normalizeAgentId))];
  if (allowed.includes(profile)) return undefined;
  return `agentId is not allowed for ${tool} (allowed: ${allowed.join(", ") || "none"})`;
}

interface ModelFor {
  readonly applied?: string;
  readonly warning?: string;
  readonly error?: string;
}

/** Undefined if no model was requested. An unknown model is ignored with a warning. */
function modelFor(
  { parts }: SpawnPorts,
  settings: Settings,
  { model }: SpawnRequest,
  profile: string,
): ModelFor | undefined {
  const wanted = model?.trim() || childModel(settings, profile);
  if (!wanted) return undefined;
  const why = parts.checkModel?.(wanted, profile);
  if (why === undefined) return { applied: wanted };
  return /invalid model|model not allowed/iu.test(why) ? { warning: why } : { error: why };
}

async function thinkingFor(
  { parts }: SpawnPorts,
  settings: Settings,
  { thinking }: SpawnRequest,
  profile: string,
  model: string | undefined,
): Promise<{ readonly level?: string; readonly error?: string }> {
  const raw = thinking?.trim();
  // A configured level is lowered where it is used; a level that the model names is checked.
  if (!raw) return { level: childThinking(settings, profile) };
  const levels = (await parts.thinkingLevels?.(model, profile)) ?? THINKING_LEVELS;
  const level = levels.find((known) => known === raw.toLowerCase());
  return level ? { level } : { error: `Invalid thinking level "${raw}". Use one of: ${levels.join(", ")}.` };
}

/**
 * At most the rights of the parent: its permissions or fewer, its rules, commands only where the parent's may run, and under another
 * profile only tools that the parent has.
 */
function rightsOf(
  { tools }: SpawnPorts,
  settings: Settings,
  { requester, permissions }: SpawnRequest,
  profile: string,
): Pick<AgentState, "permissions" | "inheritedTools" | "inheritedExec" | "inheritedProfiles" | "rules"> {
  const { state } = requester;
  const given = permissions ?? state.permissions;
  const bound = state.inheritedTools !== undefined || profile !== normalizeAgentId(requester.profile);
  const inheritedTools = bound ? tools.list(requester).map(({ name }) => name) : undefined;
  const { refused: _, ...inheritedExec } = configuredRules(settings).execPolicyOf(requester, [OWNER]);
  const profiles = [...new Set([requester.profile, ...(state.inheritedProfiles ?? [])])];
  const inheritedProfiles = profiles.filter((name) => normalizeAgentId(name) !== profile);
  return {
    permissions: given,
    inheritedTools,
    inheritedExec: inheritedExec as InheritedExec,
    inheritedProfiles: inheritedProfiles.length === 0 ? undefined : inheritedProfiles,
    rules: state.rules,
  };
}

/** The short name of a profile's main conversation; other keys as they are. */
function displayKey(sessionKey: string, mainKey: string): string {
  return /^agent:[^:]+:/u.test(sessionKey) && sessionKey.split(":").slice(2).join(":") === mainKey
    ? mainKey
    : sessionKey;
}
