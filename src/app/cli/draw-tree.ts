/** The tree of agents as lines of text. */

import type { AgentTree, TreeNode } from "../../core/agent/agent-tree.ts";
import { costText } from "../../core/cost-text.ts";
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
    ...(node.more ? [`${rest}└─ … more: \`rookery agents tree ${node.id}\``] : []),
  ];
}

function about({ label, kind, state, waiting, waitsFor, tokens, treeSpent, sessionKey }: TreeNode): string {
  const facts = [
    state,
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(waitsFor ? [`waits for ${waitsFor.join(", ")}`] : []),
    ...(tokens > 0 ? [`${tokens} tokens`] : []),
    ...(treeSpent
      ? [`tree: ${treeSpent.tokens} tokens, ${costText(treeSpent.micros / 1_000_000, treeSpent.tokens)}`]
      : []),
  ];
  return `${oneLine(label, 40)} [${kind}] ${facts.join(", ")}  ${oneLine(sessionKey, 100)}`;
}
