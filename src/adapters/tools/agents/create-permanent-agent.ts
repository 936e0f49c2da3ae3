/**
 * `create_permanent_agent`: creates an agent with a name, a description and its own prompt, or changes the one with that name.
 * It is created in the commit of the tool's result. It is changed by a message, so that earlier messages are still answered
 * with the old prompt.
 */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { defined } from "../../../core/defined.ts";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { isAgentId } from "../../../core/ids.ts";
import { DEFAULT_MAX_OUTPUT, type Tool, type ToolContext, type ToolOutput } from "../../../core/ports/tool.ts";
import { checkAllowed } from "../allowed-effects.ts";
import { effectsOn } from "./agent-effects.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { permanentNamed } from "./find-target.ts";
import { textOutput } from "./json-output.ts";

const input = z.strictObject({
  name: z.string().describe("What it is called; others write to it by this name"),
  description: z.string().describe("What it is for, in a sentence: every agent reads this"),
  systemPrompt: z.string().describe("The prompt: who it is and what it does"),
  workspaceDir: z.string().optional().describe("A directory of its own inside the workspace"),
  username: z.string().optional().describe("What it is called on screens beside its name"),
  agentId: z.string().optional().describe("The permanent agent to change, by its id"),
  permissions: z.array(z.string()).min(1).optional().describe("Permissions it gets of yours, such as @network"),
});
type Input = z.infer<typeof input>;
type Permanent = Extract<AgentDescriptor, { type: "permanent" }>;

const EFFECT = { action: "create_permanent_agent", rights: ["spawn"] } as const;

export const createPermanentAgentTool = (deps: AgentToolDeps): Tool<Input> => ({
  name: "create_permanent_agent",
  description: "Makes a permanent agent that others know by name, or changes the one of that name.",
  input,
  rights: ["spawn"],
  replay: "safe",
  parallel: false,
  maxOutput: DEFAULT_MAX_OUTPUT,
  /** A new agent reaches no one. A change reaches the agent that has the name. */
  async effects(given, context) {
    const known = await existing(deps, context.agent, given, given.name.trim()).catch(() => undefined);
    return known ? effectsOn(deps, context, { agent: known }, EFFECT) : [];
  },
  async execute(given, context) {
    const { agent } = context;
    const wanted = checked(given);
    const permissions = given.permissions && deps.permissionsOf(given.permissions, agent);
    const known = await existing(deps, agent, given, wanted.name);
    if (known) checkAllowed(context, await effectsOn(deps, context, { agent: known }, EFFECT));
    if (known) return change(deps, context, known, wanted, permissions);
    return create(deps, agent, wanted, permissions);
  },
});

interface Wanted {
  readonly name: string;
  readonly description: string;
  readonly systemPrompt: string;
  readonly workspaceDir?: string;
  readonly username?: string;
}

function checked({ name, description, systemPrompt, workspaceDir, username }: Input): Wanted {
  const needed = (text: string, what: string): string => {
    if (text.trim() === "") throw new InvalidInputError(`Permanent agent ${what} is required.`);
    return text.trim();
  };
  return {
    name: needed(name, "name"),
    description: needed(description, "description"),
    systemPrompt: needed(systemPrompt, "system prompt"),
    ...defined({
      workspaceDir: workspaceDir?.trim() || undefined,
      username: username?.trim().replace(/^@/u, "") || undefined,
    }),
  };
}

/** The agent to change: by its id, otherwise by its name. */
async function existing(deps: AgentToolDeps, from: AgentRecord, { agentId }: Input, name: string) {
  if (agentId === undefined) return permanentNamed(deps, { profile: from.profile }, name);
  if (!isAgentId(agentId)) throw new InvalidInputError("agentId must be a cuid2 value.");
  const agent = await deps.store.agent(agentId);
  if (agent?.descriptor.type !== "permanent" || agent.stopped) {
    throw new NotFoundError("Permanent agent not found for the supplied agentId.");
  }
  return agent;
}

async function create(
  deps: AgentToolDeps,
  { profile }: AgentRecord,
  wanted: Wanted,
  permissions: AgentRecord["state"]["permissions"],
): Promise<ToolOutput> {
  const id = deps.newAgentId();
  const workingDir = await deps.workspaceFor(profile, wanted.workspaceDir);
  const descriptor: Permanent = { type: "permanent", id, ...wanted };
  const state = defined({ permissions: permissionsWith(permissions, workingDir) });
  const seed = deps.seed(descriptor, profile, { id, state });
  // If two calls create the same name at once, one succeeds and the other gets an error and may change the agent.
  return done("created", id, wanted.name, [{ op: "agent.create", seed, fresh: true }]);
}

async function change(
  deps: AgentToolDeps,
  { agent }: ToolContext,
  known: AgentRecord,
  wanted: Wanted,
  permissions: AgentRecord["state"]["permissions"],
): Promise<ToolOutput> {
  const { name } = known.descriptor as Permanent;
  if (name.toLowerCase() !== wanted.name.toLowerCase()) {
    throw new InvalidInputError(`A permanent agent keeps its name: this one is ${name}.`);
  }
  const workingDir = await deps.workspaceFor(known.profile, wanted.workspaceDir);
  const { description, systemPrompt, workspaceDir, username } = wanted;
  const body = {
    kind: "describe",
    by: agent.id,
    description,
    systemPrompt,
    workspaceDir,
    username,
    permissions: permissionsWith(permissions, workingDir),
  } as const;
  const message = { body, acceptedAt: deps.clock.now() };
  return done("updated", known.id, name, [{ op: "message.post", to: { agentId: known.id }, message }]);
}

type Permissions = NonNullable<AgentRecord["state"]["permissions"]>;

/** Undefined if neither is given. */
const permissionsWith = (
  permissions: Permissions | undefined,
  workingDir: string | undefined,
): Permissions | undefined =>
  permissions || workingDir ? { ...permissions, ...defined({ workingDir: workingDir || undefined }) } : undefined;

const done = (what: string, id: string, name: string, ops: ToolOutput["ops"]): ToolOutput => ({
  ...textOutput(`Permanent agent ${what}: ${id} (name: ${name}).`),
  ops,
});
