/** `rookery tree`: shows which agent started which, with their state and usage. Only reads, also beside a running node. */
import { DEFAULT_DEPTH, DEFAULT_LIMIT, MAX_DEPTH, MAX_LIMIT, readTree } from "../../../engine/subagents/live-tree.ts";
import { defineAction } from "../command.ts";
import { drawTree } from "../draw-tree.ts";
import { findAgent } from "../find-agent.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { printResult } from "../print.ts";
import { readHome } from "../read-home.ts";

export const treeCommand = defineAction({
  summary: "show which agent started which, with their state and usage",
  usage: "[agent id or session key]",
  description:
    "Only reads; a node may run at the same time. Without an agent it shows all top-level agents, newest first.",
  arguments: { min: 0, max: 1 },
  options: {
    depth: { type: "string", value: "N", description: `how many levels to show (default: ${DEFAULT_DEPTH})` },
    limit: { type: "string", value: "N", description: `how many agents at most (default: ${DEFAULT_LIMIT})` },
  },
  async run(context) {
    const {
      args: [who],
      flags,
      paths,
      loadConfig,
    } = context;
    const depth = numberFlag(flags.depth ?? String(DEFAULT_DEPTH), "--depth", { max: MAX_DEPTH });
    const limit = limitFlag(flags.limit, DEFAULT_LIMIT, MAX_LIMIT);
    const { config } = await loadConfig();
    const tree = await readHome(paths, async (store) => {
      const root = who === undefined ? undefined : (await findAgent(store, who, config.session.mainKey)).id;
      return readTree(store, Date.now(), { depth, limit, root });
    });
    const more = tree.more ? ["There are more agents. Raise --limit to see them."] : [];
    const lines = drawTree(tree);
    return printResult(context, tree, lines.length === 0 ? "No agents." : [...lines, ...more].join("\n"));
  },
});
