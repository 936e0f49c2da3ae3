/** `read_message_file`: the rest of a message that was too long to be sent whole. Only the agent it was sent to can read it. */
import { z } from "zod";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { filePrefix } from "./long-text.ts";

const PORTION = 20_000;

const input = z.object({
  path: z.string().describe("Where the message says that the whole text is"),
  offset: z.int().min(0).optional().describe("The first character to show; counts from 0"),
});

export const readMessageFileTool = ({ files }: Pick<AgentToolDeps, "files">): Tool<z.infer<typeof input>> => ({
  name: "read_message_file",
  description: "Reads a long message that another agent sent you.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: PORTION + 200,
  async execute({ path, offset = 0 }, { agent }) {
    const name = path.split("/").at(-1) ?? "";
    if (!name.startsWith(filePrefix(agent.sessionKey))) {
      throw new InvalidInputError(`${path} is not a message to this agent.`);
    }
    const bytes = await files.read(path);
    if (!bytes) throw new NotFoundError(`There is no file ${path}.`);
    const text = new TextDecoder().decode(bytes);
    const shown = text.slice(offset, offset + PORTION).toWellFormed();
    const end = offset + shown.length;
    const note =
      end < text.length ? `\n\n[characters ${offset} to ${end} of ${text.length}; go on with offset ${end}]` : "";
    return { content: [{ type: "text", text: `${shown}${note}` }] };
  },
});
