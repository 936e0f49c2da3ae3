/**
 * What a tool call depends on besides its arguments: the directory it works in, the names of the environment a command gets, and
 * the contents of the files that its arguments and its commands name. An approval covers exactly these (M31).
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { resolve, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { RunId } from "../../core/ids.ts";
import type { ToolHost } from "../../core/ports/tool.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { CallRecord } from "../../core/run/run.ts";
import type { Surroundings } from "../../engine/approvals/call-digest.ts";
import { filesOfCommands, type NamedFile } from "./command-files.ts";
import type { WorkspaceOf } from "./workspaces.ts";

/** How many texts of the arguments may name files, and how long such a name may be. */
const MAX_NAMES = 200;
const MAX_NAME = 4_096;
/** A larger file is covered by its size and time, because it would take too long to read. */
const MAX_BYTES = 64_000_000;

export type SurroundingsOf = (
  agent: AgentRecord,
  call: CallRecord,
  effects: readonly Effect[],
  runId: RunId,
) => Promise<Surroundings>;

/** What the tool of a call shows people of it, and whether the call has had its effect already. */
type PreviewOf = (
  agent: AgentRecord,
  call: CallRecord,
  runId: RunId,
) => Promise<Pick<Surroundings, "preview" | "made">>;

/** A tool that cannot show what it would do shows its arguments. */
export const previews =
  (tools: Pick<ToolHost, "find">): PreviewOf =>
  async (agent, { name, callId, arguments: given }, runId) => {
    const tool = tools.find(agent, name);
    if (!tool?.preview) return {};
    const input = await tool.input.safeParseAsync(given);
    if (!input.success) return {};
    const preview = await tool.preview(input.data, agent).catch(() => undefined);
    return { preview, made: await tool.made?.({ runId, callId }) };
  };

export const callSurroundings =
  (workspaceOf: WorkspaceOf, env: () => Readonly<Record<string, unknown>>, previewOf?: PreviewOf): SurroundingsOf =>
  async (agent, call, effects, runId) => {
    const { own: directory, guest } = await workspaceOf(agent);
    const environment = effects.some(({ rights }) => rights.includes("exec")) ? Object.keys(env()) : undefined;
    if (directory === undefined) return { environment };
    const files: Record<string, string> = {};
    const named = [...namesIn(call.arguments)].map((name): NamedFile => ({ name, path: resolve(directory, name) }));
    for (const { name, path } of [...named, ...filesOfCommands(effects, directory)]) {
      if (Object.hasOwn(files, name)) continue;
      // Outside of a guest's directory nothing is looked at: whether a file exists there is not the guest's business.
      const hash = await hashOf(path, guest === undefined ? undefined : directory);
      if (hash !== undefined) files[name] = hash;
    }
    return { directory, environment, files, ...(await previewOf?.(agent, call, runId)) };
  };

/** The texts among the arguments that could name a file, each once. */
function namesIn(given: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const open: unknown[] = [given];
  for (let seen = 0; open.length > 0 && seen < 10 * MAX_NAMES && names.size < MAX_NAMES; seen++) {
    const value = open.pop();
    if (typeof value === "string") {
      if (value !== "" && value.length <= MAX_NAME && !/[\0\n]/.test(value)) names.add(value);
    } else if (typeof value === "object" && value !== null) open.push(...Object.values(value).slice(0, MAX_NAMES));
  }
  return names;
}

/** Undefined if there is no such file. `inside`: nor if it is elsewhere. */
async function hashOf(named: string, inside?: string): Promise<string | undefined> {
  try {
    const path = await realpath(named);
    if (inside !== undefined && !path.startsWith(`${await realpath(inside)}${sep}`)) return undefined;
    const found = await stat(path);
    if (!found.isFile()) return undefined;
    if (found.size > MAX_BYTES) return `${found.size} bytes of ${found.mtimeMs}`;
    const hash = createHash("sha256");
    await pipeline(createReadStream(path), hash);
    return hash.digest("hex");
  } catch {
    return undefined;
  }
}
