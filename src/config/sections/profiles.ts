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
  allow: tools().optional().describe("its tools; `cron_*` means all with that prefix. Every tool if it is not set"),
  deny: tools().optional().describe("tools it never has, even if another setting allows them"),
  subagents: section({ allow: tools().optional(), deny: tools().optional() }).optional().meta({
    description: "tools its subagents have in addition to those that children are allowed, and those they do not have",
    as: "profiles.<name>.tools",
  }),
});

const limitsSchema = section({
  timeoutSeconds: wholeNumber(1, 604_800).optional(),
  maxIterations: wholeNumber(1, 1_000_000).optional(),
});

const execSchema = section({
  host: oneOf(EXEC_HOSTS).optional().describe("where commands run; `sandbox` if it is not set"),
  node: text("the name of a node").optional().describe('the node for `host: "node"`'),
  security: oneOf(EXEC_SECURITY)
    .optional()
    .describe("which commands run: none, those on the list, or all; `allowlist` if it is not set"),
  ask: oneOf(EXEC_ASK).optional().describe("when a command asks; `on-miss` if it is not set"),
  elevated: oneOf(ELEVATED_LEVELS)
    .optional()
    .describe("whether commands may leave the sandbox; `off` if it is not set"),
});

/** What of their person's notes enters the prompts of its agents. */
const memorySchema = section({
  main: z
    .boolean({ error: "expected true or false" })
    .optional()
    .describe("whether `MEMORY.md` enters the prompts of its agents; true if it is not set"),
  days: wholeNumber(0, 14).optional().describe("how many notes of days enter them, the latest; none if it is not set"),
});

const profileSchema = section({
  model: modelNameSchema().optional().describe("its model; `models.default` if it is not set"),
  fallbacks: list(modelNameSchema())
    .optional()
    .describe("models to try, in order, if its model fails; `models.fallbacks` if it is not set"),
  thinking: thinkingSchema().optional().describe("its thinking level; `models.thinking` if it is not set"),
  authProfile: text("the name of an auth profile").optional().describe("the auth profile of the key to try first"),
  prompt: text("the text of a prompt").optional().describe("the start of its system prompt"),
  workspace: text("the path of a directory")
    .optional()
    .describe("the directory the owner's agents work in; `workspace/` in the home if it is not set"),
  memory: memorySchema.optional(),
  tools: toolsSchema.optional(),
  permissions: permissionsSchema
    .optional()
    .meta({ description: "rules in addition to the general ones; `untrusted` replaces theirs", as: "permissions" }),
  /** Where commands run and when they ask, in runs for the owner. A setting of an agent replaces these. */
  exec: execSchema.optional(),
  workspaceAccess: oneOf(WORKSPACE_ACCESS)
    .optional()
    .describe("what its agents may do in their workspace: nothing, read, or read and write; `rw` if it is not set"),
  limits: limitsSchema.optional().meta({ description: "the limits of a run of its agents", as: "runs" }),
  request: list(oneOf(["temperature", "response_format", "tools"]))
    .optional()
    .describe("settings that a request of the OpenAI API may have; others are refused. All three if it is not set"),
  subagents: profileSubagentsSchema.optional().meta({
    description:
      "profiles its agents may start children with, and the model and thinking level of children with this profile",
    as: "subagents",
  }),
  heartbeat: profileHeartbeatSchema.optional().meta({
    description: "its own heartbeat; if any profile has one, only those profiles have a heartbeat",
    as: "heartbeat",
  }),
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
  .prefault({})
  .meta({
    description: "settings for a group of agents; `main` is the default profile",
    page: "identity.md#profiles-and-bindings",
  });
