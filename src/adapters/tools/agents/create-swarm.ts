/** `create_swarm`: publishes an agent under a name. Each contact gets its own agent behind that name. */
import { z } from "zod";
import { nametagSchema } from "../../../core/agent/swarm.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { DEFAULT_MAX_OUTPUT, type Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { textOutput } from "./json-output.ts";
import { rootOf } from "./relations.ts";

const input = z.strictObject({
  nametag: nametagSchema.describe("The name it is published under"),
  firstName: z.string().min(1),
  lastName: z.string().optional(),
  bio: z.string().optional().describe("Who it is, in a sentence"),
  about: z.string().optional().describe("What it can be asked"),
  systemPrompt: z.string().min(1).describe("The prompt of its agents: who they are and what they do"),
  memory: z.boolean().optional().describe("Whether its agents see what you remember; left out: no"),
});

export const createSwarmTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "create_swarm",
  description: "Publishes an agent under a name; each contact gets an agent of its own behind it.",
  input,
  rights: ["spawn"],
  replay: "safe",
  parallel: false,
  maxOutput: DEFAULT_MAX_OUTPUT,
  async execute({ memory = false, ...given }, { agent }) {
    const { store, clock } = deps;
    if (await store.swarm(given.nametag)) throw new InvalidInputError(`Swarm already exists: ${given.nametag}`);
    const owner = (await rootOf(store, agent)).id;
    const swarm = { ...given, memory, owner, profile: agent.profile, createdAt: clock.now() };
    return { ...textOutput(`Swarm created: @${given.nametag}.`), ops: [{ op: "swarm.put", swarm, fresh: true }] };
  },
});
