/**
 * Starts a child: checks in clawdbot's order (nesting, allow-list, model, thinking), then everything that makes the child as
 * ops. They are a tool's effect and are committed with its result: a child exists exactly if its parent was told so (M12).
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { isSubagentSessionKey, normalizeAgentId } from "../../core/agent/session-key.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import { buildSubagentSystemPrompt } from "../context/prompt/subagent-prompt.ts";
import { seedAgent } from "../context/seed-agent.ts";
import { recipientOf } from "../inbox/accept.ts";
import { registerSubagentRun } from "./registry.ts";
import type { SubagentSettings } from "./settings.ts";
import { depthOf } from "./tree.ts";

export type SpawnPorts = Pick<Ports, "store" | "ids" | "clock" | "tools">;

export interface SpawnRequest {
  /** The tool that asks, as errors name it. */
  readonly tool: string;
  /** The agent that wants a child, and where its run's answer goes. */
  readonly requester: AgentRecord;
  readonly origin?: DeliveryContext;
  /** Whom the requester's run works for; the child does too. */
  readonly person?: string;
  readonly task: string;
  readonly label?: string;
  /** The profile the child speaks as. Absent: the requester's. */
  readonly agentId?: string;
  readonly model?: string;
  readonly thinking?: string;
  /** 0: no limit of its own. */
  readonly runTimeoutSeconds?: number;
  readonly cleanup?: "delete" | "keep";
  /** Absent: as the parent's. */
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
  /** What makes the child; empty where it was refused. */
  readonly ops: readonly Op[];
  readonly childId?: AgentId;
}

const refused = (result: SpawnResult): Spawned => ({ result, ops: [] });
const forbidden = (error: string): Spawned => refused({ status: "forbidden", error });

export async function spawnSubagent(
  ports: SpawnPorts,
  settings: SubagentSettings,
  request: SpawnRequest,
): Promise<Spawned> {
  const nested = await whyNotHere(ports, settings, request);
  if (nested !== undefined) return forbidden(nested);

  const profile = normalizeAgentId(request.agentId?.trim() || request.requester.profile);
  const unwanted = whyNotAs(settings, request, profile);
  if (unwanted !== undefined) return forbidden(unwanted);
  const spelled = settings.profileNamed(profile);
  if (spelled === undefined) {
    return refused({ status: "error", error: `There is no agentId "${profile}" in the configuration.` });
  }

  const at = ports.clock.now();
  const uuid = ports.ids.uuid();
  const label = request.label?.trim() || undefined;
  const { requester: parent, origin } = request;
  const descriptor = { type: "subagent", id: uuid, parentAgentId: parent.id, name: label ?? "subagent" } as const;
  const seed = seedAgent(ports.ids, descriptor, at, spelled);
  const { sessionKey } = seed;

  const model = modelFor(settings, request, profile);
  if (model?.error !== undefined) return refused({ status: "error", error: model.error, childSessionKey: sessionKey });
  const thinking = thinkingFor(settings, request, profile, model?.applied);
  if (thinking.error !== undefined) return refused({ status: "error", error: thinking.error });

  const runId = ports.ids.uuid() as RunId;
  const about = { task: request.task, ...(label ? { label } : {}), childSessionKey: sessionKey };
  const state: AgentState = {
    ...seed.state,
    spawnedBy: parent.sessionKey,
    ...(label ? { label } : {}),
    extraSystemPrompt: buildSubagentSystemPrompt({ ...about, requesterSessionKey: parent.sessionKey }),
    ...(model?.applied ? { modelOverride: model.applied } : {}),
    ...(thinking.level ? { thinkingLevel: thinking.level } : {}),
    ...rightsOf(ports, request, profile),
  };
  const timeoutSeconds = Math.floor(request.runTimeoutSeconds ?? 0);
  const wishes = timeoutSeconds > 0 ? { wishes: { timeoutSeconds } } : {};
  const worksFor = request.person === undefined ? {} : { person: request.person };
  const body = { kind: "user", text: request.task, ...wishes, ...worksFor } as const;
  const register = registerSubagentRun({
    ...about,
    runId,
    requesterSessionKey: parent.sessionKey,
    ...(origin ? { requesterOrigin: origin } : {}),
    requesterDisplayKey: displayKey(parent.sessionKey, settings),
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
      ...(model ? { modelApplied: model.applied !== undefined } : {}),
      ...(model?.warning === undefined ? {} : { warning: model.warning }),
    },
    ops: [
      { op: "message.post", to: recipientOf({ ...seed, state }), message: { body, asRun: runId, acceptedAt: at } },
      register,
    ],
    childId: seed.id,
  };
}

/** Nesting is forbidden unless the configuration allows it, and then so deep and so many. */
async function whyNotHere(
  { store }: SpawnPorts,
  { maxDepth, maxChildren }: SubagentSettings,
  { tool, requester }: SpawnRequest,
): Promise<string | undefined> {
  if (isSubagentSessionKey(requester.sessionKey)) {
    if (maxDepth <= 1) return `${tool} is not allowed from sub-agent sessions`;
    const depth = await depthOf(store, requester);
    if (depth >= maxDepth) return `${tool} is not allowed at this depth (current depth: ${depth}, max: ${maxDepth})`;
  }
  const open = await store.openSubagentRuns(requester.sessionKey);
  if (open < maxChildren) return undefined;
  return `${tool} has reached max active children for this session (${open}/${maxChildren})`;
}

/** An agent may always start children as itself; as others only where its profile says so. */
function whyNotAs(settings: SubagentSettings, { tool, requester }: SpawnRequest, profile: string): string | undefined {
  const own = normalizeAgentId(requester.profile);
  if (profile === own) return undefined;
  const listed = settings.allowAgents(own).map((name) => name.trim());
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

/** Undefined where nobody asked for a model. One that is not known is passed over with a warning. */
function modelFor(settings: SubagentSettings, { model }: SpawnRequest, profile: string): ModelFor | undefined {
  const wanted = model?.trim() || settings.model(profile);
  if (!wanted) return undefined;
  const why = settings.checkModel(wanted, profile);
  if (why === undefined) return { applied: wanted };
  return /invalid model|model not allowed/iu.test(why) ? { warning: why } : { error: why };
}

function thinkingFor(
  settings: SubagentSettings,
  { thinking }: SpawnRequest,
  profile: string,
  model: string | undefined,
): { readonly level?: string; readonly error?: string } {
  const raw = thinking?.trim() || settings.thinking(profile);
  if (!raw) return {};
  const levels = settings.thinkingLevels(model, profile);
  const level = levels.find((known) => known === raw.toLowerCase());
  return level ? { level } : { error: `Invalid thinking level "${raw}". Use one of: ${levels.join(", ")}.` };
}

/** At most what the parent has: its permissions or fewer, and under another profile only tools the parent has too. */
function rightsOf(
  { tools }: SpawnPorts,
  { requester, permissions }: SpawnRequest,
  profile: string,
): Pick<AgentState, "permissions" | "inheritedTools"> {
  const { state } = requester;
  const given = permissions ?? state.permissions;
  const bound = state.inheritedTools !== undefined || profile !== normalizeAgentId(requester.profile);
  const inheritedTools = bound ? tools.list(requester).map(({ name }) => name) : undefined;
  return { ...(given ? { permissions: given } : {}), ...(inheritedTools ? { inheritedTools } : {}) };
}

/** A profile's main conversation is called by its short name. */
function displayKey(sessionKey: string, { mainKey = "main" }: SubagentSettings): string {
  return /^agent:[^:]+:/u.test(sessionKey) && sessionKey.split(":").slice(2).join(":") === mainKey
    ? mainKey
    : sessionKey;
}
