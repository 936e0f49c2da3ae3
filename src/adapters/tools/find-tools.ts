/**
 * `find_tools`: finds tools that the model is not sent, by keywords, and has them sent from the next call on. Which ones were
 * found is part of the agent's state, written with the result, and lasts until the session ends. Rights do not change: it finds
 * what the agent may use, and each call of a found tool is judged as any other.
 */
import { z } from "zod";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { cutText } from "../../core/cut-text.ts";
import type { Tool } from "../../core/ports/tool.ts";

export const FIND_TOOLS = "find_tools";

const MAX_QUERY = 500;
const MAX_FOUND = 5;
/** Of the names that are listed if nothing matches. */
const MAX_NAMES = 2_000;

const input = z.strictObject({
  query: z.string().max(MAX_QUERY).describe("keywords or names"),
});

interface FindToolsOptions {
  /** The tools that an agent may use and its model was not sent. */
  readonly hiddenFrom: (agent: AgentRecord) => readonly Tool[];
  /** What else can be found, in a few words. */
  readonly also?: () => string;
  /** Where the description of a tool comes from, if no person of this installation has looked at it (M32). */
  readonly untrustedFrom?: (tool: string) => string | undefined;
}

export const findToolsTool = ({ hiddenFrom, also, untrustedFrom }: FindToolsOptions): Tool<z.infer<typeof input>> => ({
  name: FIND_TOOLS,
  get description() {
    return `More tools: schedules (cron), heartbeat, other agents and sessions (list, history, send), permanent agents, swarms${also?.() ?? ""}. Finds them by keywords; you can call them after that.`;
  },
  input,
  rights: [],
  replay: "safe",
  parallel: false,
  maxOutput: 4_000,
  async execute({ query }, { agent }) {
    const hidden = hiddenFrom(agent);
    const found = matching(hidden, query);
    if (found.length > 0) {
      const lines = found.map(({ name, description }) => `- ${name}: ${cutText(description, 300)}`);
      const text = ["You can call these tools now:", ...lines].join("\n");
      const from = found.map(({ name }) => untrustedFrom?.(name)).find((each) => each !== undefined);
      return {
        content: [{ type: "text", text }],
        found: found.map(({ name }) => name),
        untrusted: from === undefined ? undefined : { from },
      };
    }
    // A name is a text too: those that no one has looked at are counted only.
    const known = hidden.filter(({ name }) => untrustedFrom?.(name) === undefined);
    const more = hidden.length - known.length;
    const listed = [...known.map(({ name }) => name), ...(more > 0 ? [`${more} of MCP servers`] : [])];
    const names = cutText(listed.join(", "), MAX_NAMES);
    const text = names === "" ? "There are no more tools." : `No tool matches. There are: ${names}.`;
    return { content: [{ type: "text", text }] };
  },
});

/** The best matches first. A word counts more in a name than in a description. */
function matching(tools: readonly Tool[], query: string): readonly Tool[] {
  const words = [...new Set(wordsIn(query))];
  return tools
    .map((tool) => ({ tool, score: scoreOf(tool, words, query) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    .slice(0, MAX_FOUND)
    .map(({ tool }) => tool);
}

function scoreOf({ name, description }: Tool, words: readonly string[], query: string): number {
  const called = wordsIn(name);
  const about = wordsIn(description);
  const hits = (where: readonly string[], word: string): boolean => where.some((one) => one.startsWith(word));
  const exact = query.includes(name) ? 100 : 0;
  return words.reduce((sum, word) => sum + (hits(called, word) ? 3 : 0) + (hits(about, word) ? 1 : 0), exact);
}

/** Words of three letters or more, without a plural's ending. */
const wordsIn = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]/u)
    .filter((word) => word.length > 2)
    .map((word) => (word.endsWith("s") && word.length > 3 ? word.slice(0, -1) : word));
