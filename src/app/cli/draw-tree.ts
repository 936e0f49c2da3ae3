/** The tree of agents as lines of text. */

import type { AgentTree, TreeNode } from "../../core/agent/agent-tree.ts";
import { costText } from "../../core/cost-text.ts";
import { agentArgument } from "../../core/typed-name.ts";
import { oneLine } from "./plain-text.ts";

export const drawTree = ({ roots }: Pick<AgentTree, "roots">): readonly string[] =>
  roots.flatMap((root) => drawn(root, "", ""));

/** A tree node and all below it, one line each. */
function drawn(node: TreeNode, first: string, rest: string): readonly string[] {
  const children = node.children.flatMap((child, index) => {
    const last = index === node.children.length - 1 && !node.more;
    return drawn(child, `${rest}${last ? "└─ " : "├─ "}`, `${rest}${last ? "   " : "│  "}`);
  });
  return [
    `${first}${about(node)}`,
    ...children,
    ...(node.more ? [`${rest}└─ … more: \`rookery agents tree ${agentArgument(node)}\``] : []),
  ];
}

function about({ name, kind, state, waiting, waitsFor, tokens, treeSpent }: TreeNode): string {
  const facts = [
    state,
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(waitsFor
      ? [`waits for ${waitsFor.map((one) => oneLine(one.name ?? "an agent that is gone", 60)).join(", ")}`]
      : []),
    ...(tokens > 0 ? [`${tokens} tokens`] : []),
    ...(treeSpent
      ? [`tree: ${treeSpent.tokens} tokens, ${costText(treeSpent.micros / 1_000_000, treeSpent.tokens)}`]
      : []),
  ];
  return `${oneLine(name, 80)} [${kind}] ${facts.join(", ")}`;
}
