/** `rookery tree`: shows which agent started which, with their state and usage. Only reads, also beside a running node. */

import type { TreeNode } from "../../../core/agent/agent-tree.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { DEFAULT_DEPTH, DEFAULT_LIMIT, MAX_DEPTH, MAX_LIMIT, readTree } from "../../../engine/subagents/live-tree.ts";
import { defineAction } from "../command.ts";
import { findAgent } from "../find-agent.ts";
import { oneLine, wholeNumberFlag } from "../plain-text.ts";
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
  async run({ args: [who], flags, paths, json, stdout, loadConfig }) {
    const depth = wholeNumberFlag(flags.depth, DEFAULT_DEPTH, MAX_DEPTH);
    if (depth === undefined) throw new InvalidInputError(`--depth takes a whole number from 1 to ${MAX_DEPTH}.`);
    const limit = wholeNumberFlag(flags.limit, DEFAULT_LIMIT, MAX_LIMIT);
    if (limit === undefined) throw new InvalidInputError(`--limit takes a whole number from 1 to ${MAX_LIMIT}.`);
    const { config } = await loadConfig();
    const tree = await readHome(paths, async (store) => {
      const root = who === undefined ? undefined : (await findAgent(store, who, config.session.mainKey)).id;
      return readTree(store, Date.now(), { depth, limit, root });
    });
    if (json) stdout.write(`${JSON.stringify(tree)}\n`);
    else if (tree.roots.length === 0) stdout.write("No agents.\n");
    else {
      for (const root of tree.roots) for (const line of drawn(root, "", "")) stdout.write(`${line}\n`);
      if (tree.more) stdout.write("There are more agents. Raise --limit to see them.\n");
    }
    return undefined;
  },
});

/** A tree node and all below it, one line each. */
function drawn(node: TreeNode, first: string, rest: string): readonly string[] {
  const children = node.children.flatMap((child, index) => {
    const last = index === node.children.length - 1 && !node.more;
    return drawn(child, `${rest}${last ? "└─ " : "├─ "}`, `${rest}${last ? "   " : "│  "}`);
  });
  return [`${first}${about(node)}`, ...children, ...(node.more ? [`${rest}└─ … more: rookery tree ${node.id}`] : [])];
}

function about({ label, kind, state, waiting, waitsFor, tokens, treeSpent, sessionKey }: TreeNode): string {
  const facts = [
    state,
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(waitsFor ? [`waits for ${waitsFor.join(", ")}`] : []),
    ...(tokens > 0 ? [`${tokens} tokens`] : []),
    ...(treeSpent ? [`tree: ${treeSpent.tokens} tokens, $${(treeSpent.micros / 1_000_000).toFixed(4)}`] : []),
  ];
  return `${oneLine(label, 40)} [${kind}] ${facts.join(", ")}  ${oneLine(sessionKey, 100)}`;
}
