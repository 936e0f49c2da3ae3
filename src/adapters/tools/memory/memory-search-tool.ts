/** `memory_search`: what was said in earlier conversations of the same person, and what is in the notes. Reads only. */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Untrusted } from "../../../core/history/entry.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Tool, ToolContext } from "../../../core/ports/tool.ts";
import { MAX_QUERY } from "../../../core/search/parse-query.ts";
import type { SearchHit } from "../../../core/search/search-index.ts";
import { sessionBehalf } from "../../../engine/people/run-behalf.ts";
import { textOfAgent } from "../agents/text-of-agent.ts";
import { isMarkedNote } from "./marked-note.ts";
import { type MemoryDeps, scopeOf } from "./memory-deps.ts";
import { isAsOnDisk } from "./trusted-note.ts";

const MAX_HITS = 20;

const input = z.strictObject({
  query: z.string().min(1).max(MAX_QUERY).describe('Words; "…" for a phrase, word* for a beginning'),
  limit: z.int().min(1).max(MAX_HITS).optional(),
});

export const memorySearchTool = (deps: MemoryDeps): Tool<z.infer<typeof input>> => ({
  name: "memory_search",
  description:
    "Searches notes and all earlier conversations with this person. Use it before you say that you do not know.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 12_000,
  async execute({ query, limit = 6 }, context) {
    if (!deps.index)
      throw new InvalidInputError("This engine's store has no search index.", { hint: "Use `sessions_history`." });
    const found = await deps.index.search({ query, limit, ...(await scopeOf(deps, context)) });
    const hits = found.filter(
      ({ directory, path }) => directory === undefined || path === undefined || isAsOnDisk(deps.guard, directory, path),
    );
    const { heard, untrusted } = await whoSpoke(deps, context, hits);
    const text = hits.map(shownHit).join("\n\n");
    return { content: [{ type: "text", text: text || "Nothing was found." }], heard, untrusted };
  },
});

const shownHit = ({ ref, snippet, at, speaker, sessionKey }: SearchHit): string => {
  const day = at > 0 ? new Date(at).toISOString().slice(0, 16).replace("T", " ") : "?";
  const who = speaker === "note" ? "note" : `${speaker === "user" ? "person" : "agent"} in ${sessionKey}`;
  return `[${ref}] ${day} ${who}\n${snippet}`;
};

/** Everyone whose words are shown is on the run's way from now on (M30), and untrusted text keeps its mark (M32). */
async function whoSpoke(deps: MemoryDeps, context: Pick<ToolContext, "agent" | "behalf">, hits: readonly SearchHit[]) {
  const ids = [...new Set(hits.flatMap(({ agentId }) => agentId ?? []))];
  const agents = (await Promise.all(ids.map((id) => deps.store.agent(id as AgentId)))).flatMap((agent) => agent ?? []);
  const marked = hits.find(({ untrusted }) => untrusted !== undefined)?.untrusted;
  const note = hits.find(
    ({ directory, path }) => directory !== undefined && path !== undefined && isMarkedNote(deps.marks, directory, path),
  );
  const other = agents.map((agent) => textOfAgent(context, agent)).find((mark) => mark !== undefined);
  const untrusted: Untrusted | undefined =
    marked === undefined ? (note ? { from: `file:${note.path}` } : other) : { from: marked };
  return { heard: agents.map(sessionBehalf), untrusted };
}
