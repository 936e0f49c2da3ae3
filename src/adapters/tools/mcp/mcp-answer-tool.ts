/** `mcp_answer`: sends a person's answer to a server that asked for it. It always needs a person's yes. */
import { z } from "zod";
import { NotFoundError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import { answersSchema, forgetInput, givenInput, type InputStore, storedInput } from "./input-asked.ts";
import { callServer, type McpToolDeps } from "./mcp-tool.ts";
import { mcpToolName } from "./tool-name.ts";

const input = z.object({
  ref: z.string().min(1).max(200),
  answers: answersSchema.describe("The person's answers, by field"),
});

export interface AnswerDeps {
  readonly store: InputStore;
  readonly serverNamed: (name: string) => McpToolDeps | undefined;
}

export const mcpAnswerTool = ({ store, serverNamed }: AnswerDeps): Tool<z.infer<typeof input>> => ({
  name: "mcp_answer",
  description: "Sends the person's answers to an MCP server that asked for input.",
  input,
  rights: ["network"],
  replay: "never",
  parallel: false,
  untrusted: true,
  maxOutput: 20_000,
  needsYes: () => true,
  async effects({ ref }, { agentId }) {
    const stored = await storedInput(store, ref, agentId);
    return stored ? [{ action: mcpToolName(stored.server, stored.tool), rights: ["network"] }] : [];
  },
  async execute({ ref, answers }, context) {
    const stored = await storedInput(store, ref, context.agentId);
    const deps = stored && serverNamed(stored.server);
    if (!stored || !deps) throw new NotFoundError(`No server waits for an answer with the reference ${ref}.`);
    const { tool, args } = stored;
    const output = await callServer(deps, { tool, args, given: givenInput(stored, answers) }, context);
    return { ...output, ops: [...(output.ops ?? []), forgetInput(ref)] };
  },
});
