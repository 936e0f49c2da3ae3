/** `read_message_file`: reads a message that was too long to send. Only its recipient can read it. */
import { z } from "zod";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { filePrefix, isMarkedName } from "./long-text.ts";

const MAX_CHARACTERS = 20_000;

const input = z.strictObject({
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
  maxOutput: MAX_CHARACTERS + 200,
  async execute({ path, offset = 0 }, { agent }) {
    const name = path.split("/").at(-1) ?? "";
    if (!name.startsWith(filePrefix(agent.sessionKey))) {
      throw new InvalidInputError(`${path} is not a message to this agent.`);
    }
    const bytes = await files.read(path);
    if (!bytes) throw new NotFoundError(`There is no file ${path}.`);
    const text = new TextDecoder().decode(bytes);
    const shown = text.slice(offset, offset + MAX_CHARACTERS).toWellFormed();
    const end = offset + shown.length;
    const note =
      end < text.length ? `\n\n[characters ${offset} to ${end} of ${text.length}; go on with offset ${end}]` : "";
    const untrusted = isMarkedName(name, agent.sessionKey) ? { from: `file:${name}` } : undefined;
    return { content: [{ type: "text", text: `${shown}${note}` }], untrusted };
  },
});
