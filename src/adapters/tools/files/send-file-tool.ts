/**
 * `send_file`: sends a file of the workspace, or one that came with a message, to the person of the conversation. It goes where
 * the run's answer goes. The bytes are stored first; delivery and result are one commit (M12).
 */
import { basename } from "node:path";
import { z } from "zod";
import { whereItSpeaks } from "../../../core/agent/speaking-target.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { referenceTo, type StoredFile } from "../../../core/message/stored-file.ts";
import type { Tool, ToolContext } from "../../../core/ports/tool.ts";
import { writesMarked } from "./file-marks.ts";
import { effectsOnFiles, type FileToolDeps } from "./file-tool-deps.ts";
import { readBytes } from "./read-text.ts";
import { isFileId, type StoredFiles } from "./stored-files.ts";

const input = z.strictObject({
  path: z.string().describe("The file, relative to the workspace, or the id of a file of this conversation"),
  text: z.string().max(10_000).optional().describe("What to say with it"),
});

export const sendFileTool = (deps: FileToolDeps, stored: StoredFiles): Tool<z.infer<typeof input>> => ({
  name: "send_file",
  description: "Sends a file to the person you talk to.",
  input,
  rights: ["read"],
  replay: "safe",
  parallel: false,
  maxOutput: 500,
  effects: effectsOnFiles(deps, "send_file", ["read"], ({ path }) => [{ access: "read", path }]),
  async execute({ path, text }, context) {
    const { agent, agentId } = context;
    const target = context.delivery ?? whereItSpeaks(agent);
    if (!target) throw new InvalidInputError("No one listens in this conversation, so no file can be sent.");
    const file = isFileId(path) ? await stored.find(agent, path) : await fromWorkspace(deps, stored, context, path);
    const { name, size, id } = file;
    return {
      content: [{ type: "text", text: `${name} (${size} bytes, id ${id}) was sent.` }],
      deliveries: [{ target, payload: { text: text?.trim() || undefined, files: [referenceTo(file)] } }],
      ops: [{ op: "file.hold", files: [id], by: { agentId } }],
    };
  },
});

async function fromWorkspace(
  deps: FileToolDeps,
  stored: StoredFiles,
  context: ToolContext,
  path: string,
): Promise<StoredFile> {
  const { agent, behalf } = context;
  const person = behalf?.person ?? agent.person;
  if (person === undefined) throw new InvalidInputError("This agent belongs to no one, so it has no files.");
  const { bytes, real } = await readBytes(deps.disk, await deps.placesOf(agent), path);
  const isMarked = writesMarked(context) || deps.marks.has(real, bytes);
  const own = isMarked ? { ...behalf, person, untrusted: true as const } : { ...behalf, person };
  return stored.put({ data: bytes, name: basename(real), behalf: own });
}
