/** `mcp_answer`: sends a person's answer to a server that asked for it. It always needs a person's yes. */
import { z } from "zod";
import { NotFoundError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import { answersSchema, forgetInput, givenInput, type InputStore, keptInputs, openInputs } from "./input-asked.ts";
import type { ServerNamed } from "./mcp-read-tools.ts";
import { callServer } from "./mcp-tool.ts";
import { mcpToolName } from "./tool-name.ts";

const input = z.strictObject({
  ref: z.string().min(1).max(200),
  answers: answersSchema.describe("The person's answers, by field"),
});

interface AnswerDeps {
  readonly store: InputStore;
  readonly now: () => number;
  readonly serverNamed: ServerNamed;
}

export const mcpAnswerTool = ({ store, now, serverNamed }: AnswerDeps): Tool<z.infer<typeof input>> => ({
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
    const { inputs } = await openInputs(store, agentId, now());
    const stored = keptInputs(inputs, now()).find(({ id }) => id === ref);
    return stored ? [{ action: mcpToolName(stored.server, stored.tool), rights: ["network"] }] : [];
  },
  async execute({ ref, answers }, context) {
    const open = await openInputs(store, context.agentId, now());
    const stored = keptInputs(open.inputs, open.now).find(({ id }) => id === ref);
    const deps = stored && serverNamed(stored.server, context.agent.profile);
    // The owner may have left the tool out since it asked.
    if (!stored || !deps?.isOffered(stored.tool))
      throw new NotFoundError(`No server waits for an answer with the reference ${ref}.`, {
        hint: "A question is kept for a week. Call the tool again to be asked again.",
      });
    const { tool, args } = stored;
    const output = await callServer(deps, { tool, args, given: givenInput(stored, answers) }, context);
    // A server that asks once more has replaced the question already.
    return output.ops ? output : { ...output, ops: [forgetInput(context.agentId, open, ref)] };
  },
});
