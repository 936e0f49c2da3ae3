/** Profiles: model, prompt, tools and limits of agents. The profile `main` always exists. */
import { z } from "zod";
import {
  ELEVATED_LEVELS,
  EXEC_ASK,
  EXEC_HOSTS,
  EXEC_SECURITY,
  WORKSPACE_ACCESS,
} from "../../core/agent/exec-fields.ts";
import { normalizeAgentId } from "../../core/agent/session-key.ts";
import { list, named, oneOf, section, text, wholeNumber } from "../values.ts";
import { profileHeartbeatSchema } from "./heartbeat.ts";
import { modelNameSchema, thinkingSchema } from "./models.ts";
import { permissionsSchema } from "./permissions.ts";
import { profileSubagentsSchema } from "./subagents.ts";

const tools = () => list(text('the name of a tool, or a beginning with "*" behind it'));

/** The tools of its agents. `deny` overrides `allow`. */
const toolsSchema = section({
  allow: tools().optional(),
  deny: tools().optional(),
  /** Subagents have fewer tools by default. Adds tools for them, or removes more. */
  subagents: section({ allow: tools().optional(), deny: tools().optional() }).optional(),
});

const limitsSchema = section({
  timeoutSeconds: wholeNumber(1, 604_800).optional(),
  maxIterations: wholeNumber(1, 1_000_000).optional(),
});

const execSchema = section({
  host: oneOf(EXEC_HOSTS).optional(),
  /** The name of a node of the cluster, for `host: "node"`. */
  node: text("the name of a node").optional(),
  security: oneOf(EXEC_SECURITY).optional(),
  ask: oneOf(EXEC_ASK).optional(),
  elevated: oneOf(ELEVATED_LEVELS).optional(),
});

/** What of their person's notes enters the prompts of its agents. */
const memorySchema = section({
  /** Whether MEMORY.md does. Default: yes. */
  main: z.boolean({ error: "expected true or false" }).optional(),
  /** How many notes of days do, the latest. Default: none. */
  days: wholeNumber(0, 14).optional(),
});

const profileSchema = section({
  model: modelNameSchema().optional(),
  fallbacks: list(modelNameSchema()).optional(),
  thinking: thinkingSchema().optional(),
  authProfile: text("the name of an auth profile").optional(),
  prompt: text("the text of a prompt").optional(),
  workspace: text("the path of a directory").optional(),
  memory: memorySchema.optional(),
  tools: toolsSchema.optional(),
  /** Rules in addition to `permissions`. */
  permissions: permissionsSchema.optional(),
  /** Where commands run and when they ask, in runs for the owner. A setting of an agent replaces these. */
  exec: execSchema.optional(),
  /** What its agents may do in their workspace. Default: `rw`. */
  workspaceAccess: oneOf(WORKSPACE_ACCESS).optional(),
  limits: limitsSchema.optional(),
  /** Settings that a request of the OpenAI API may have. */
  request: list(oneOf(["temperature", "response_format", "tools"])).optional(),
  subagents: profileSubagentsSchema.optional(),
  /** With this section the profile has a separate heartbeat. Missing fields are as in `heartbeat`. */
  heartbeat: profileHeartbeatSchema.optional(),
});

/** A profile's name is part of its agents' addresses, so two names must differ there. */
export const profilesSchema = named(profileSchema)
  .superRefine((profiles, context) => {
    const seen = new Map<string, string>();
    for (const name of Object.keys(profiles)) {
      const id = normalizeAgentId(name);
      const other = seen.get(id);
      if (other === undefined) seen.set(id, name);
      else
        context.addIssue({
          code: "custom",
          path: [name],
          message: `expected another name than "${other}", which reads alike in addresses`,
        });
    }
  })
  .prefault({});
