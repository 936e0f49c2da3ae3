/**
 * `create_permanent_agent`: makes an agent with a name, a description and a prompt of its own, or changes the one that has
 * the name. Made in the commit of the tool's result; changed by a message to it, so that what was said to it before is still
 * answered as it was.
 */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { DeniedError, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { isAgentId } from "../../../core/ids.ts";
import { DEFAULT_MAX_OUTPUT, type Tool, type ToolContext, type ToolOutput } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { permanentNamed } from "./find-target.ts";
import { textOutput } from "./json-output.ts";
import { worksForOwner } from "./relations.ts";

const input = z.object({
  name: z.string().describe("What it is called; others write to it by this name"),
  description: z.string().describe("What it is for, in a sentence: every agent reads this"),
  systemPrompt: z.string().describe("What it is told about itself and its work"),
  workspaceDir: z.string().optional().describe("A directory of its own inside the workspace"),
  username: z.string().optional().describe("What it is called on screens beside its name"),
  agentId: z.string().optional().describe("The permanent agent to change, by its id"),
  permissions: z.array(z.string()).min(1).optional().describe("Permissions it gets of yours, such as @network"),
});
type Input = z.infer<typeof input>;
type Permanent = Extract<AgentDescriptor, { type: "permanent" }>;

export const OWNER_ONLY = "Only the owner's agents can create, change and remove permanent agents.";

export const createPermanentAgentTool = (deps: AgentToolDeps): Tool<Input> => ({
  name: "create_permanent_agent",
  description: "Makes a permanent agent that others know by name, or changes the one of that name.",
  input,
  rights: ["spawn"],
  replay: "safe",
  parallel: false,
  maxOutput: DEFAULT_MAX_OUTPUT,
  async execute(given, context) {
    const { agent } = context;
    if (!(await worksForOwner(deps.store, deps.config.owner, agent))) throw new DeniedError(OWNER_ONLY);
    const wanted = checked(given);
    const permissions = given.permissions && deps.permissionsOf(given.permissions, agent);
    const known = await existing(deps, agent, given, wanted.name);
    if (known) return change(deps, context, known, wanted, permissions);
    return make(deps, agent, wanted, permissions);
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
    ...(workspaceDir?.trim() ? { workspaceDir: workspaceDir.trim() } : {}),
    ...(username?.trim() ? { username: username.trim().replace(/^@/u, "") } : {}),
  };
}

/** The one that is to be changed: by its id, else by its name in any case. */
async function existing(deps: AgentToolDeps, from: AgentRecord, { agentId }: Input, name: string) {
  if (agentId === undefined) return permanentNamed(deps, { profile: from.profile }, name);
  if (!isAgentId(agentId)) throw new InvalidInputError("agentId must be a cuid2 value.");
  const agent = await deps.store.agent(agentId);
  if (agent?.descriptor.type !== "permanent" || agent.stopped) {
    throw new NotFoundError("Permanent agent not found for the supplied agentId.");
  }
  return agent;
}

async function make(
  deps: AgentToolDeps,
  { profile }: AgentRecord,
  wanted: Wanted,
  permissions: AgentRecord["state"]["permissions"],
): Promise<ToolOutput> {
  const id = deps.newAgentId();
  const workingDir = await deps.workspaceFor(profile, wanted.workspaceDir);
  const descriptor: Permanent = { type: "permanent", id, ...wanted };
  const given =
    workingDir || permissions ? { permissions: { ...permissions, ...(workingDir ? { workingDir } : {}) } } : {};
  const seed = deps.seed(descriptor, profile, { id, state: given });
  // Two who make the same name at once: one does, the other is told and may change it then.
  return said("created", id, wanted.name, [{ op: "agent.create", seed, fresh: true }]);
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
    ...(workspaceDir === undefined ? {} : { workspaceDir }),
    ...(username === undefined ? {} : { username }),
    ...(permissions || workingDir ? { permissions: { ...permissions, ...(workingDir ? { workingDir } : {}) } } : {}),
  } as const;
  const message = { body, acceptedAt: deps.clock.now() };
  return said("updated", known.id, name, [{ op: "message.post", to: { agentId: known.id }, message }]);
}

const said = (done: string, id: string, name: string, ops: ToolOutput["ops"]): ToolOutput => ({
  ...textOutput(`Permanent agent ${done}: ${id} (name: ${name}).`),
  ops,
});
