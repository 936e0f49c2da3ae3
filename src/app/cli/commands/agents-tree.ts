/** `rookery agents tree`: shows which agent started which, with their state and usage. Only reads, also beside a running node. */
import { TREE_LIMITS } from "../../../core/agent/agent-tree.ts";
import { reading } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { drawTree } from "../draw-tree.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { printResult } from "../print.ts";

export const treeAction = defineAction({
  summary: "show which agent started which, with their state and usage",
  usage: "[agent id, key or name]",
  description:
    "Only reads; a node may run at the same time. Without an agent it shows all top-level agents, newest first.",
  arguments: { min: 0, max: 1 },
  options: {
    depth: { type: "string", value: "N", description: `how many levels to show (default: ${TREE_LIMITS.depth})` },
    limit: { type: "string", value: "N", description: `how many agents at most (default: ${TREE_LIMITS.agents})` },
  },
  async run(context) {
    const {
      args: [who],
      flags,
    } = context;
    const depth = numberFlag(flags.depth ?? String(TREE_LIMITS.depth), "--depth", { max: TREE_LIMITS.maxDepth });
    const limit = limitFlag(flags.limit, TREE_LIMITS.agents, TREE_LIMITS.maxAgents);
    const tree = await reading(context, (rookery) => rookery.agents.tree({ depth, limit, root: who }));
    const more = tree.more ? ["There are more agents. Raise --limit to see them."] : [];
    const lines = drawTree(tree);
    return printResult(context, tree, lines.length === 0 ? "No agents." : [...lines, ...more].join("\n"));
  },
});
