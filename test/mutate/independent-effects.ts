/** Finds pairs of statements whose order makes no difference. */
import { asNode, type Node, nodesOf } from "./syntax.ts";

/** True for two assignments or changes of collections if neither uses the other: their order makes no difference. */
export function areIndependent(one: Node, other: Node, text: (node: unknown) => string): boolean {
  const [first, second] = [targetOf(one, text), targetOf(other, text)];
  if (first === undefined || second === undefined || first === second) return false;
  return !mentions(text(other), first) && !mentions(text(one), second);
}

const COLLECTION = /^(?:set|add|delete|clear|push)$/;

/** Returns the one thing that a statement changes, or undefined if it changes more or calls something. */
function targetOf(statement: Node, text: (node: unknown) => string): string | undefined {
  const expression = asNode(statement.expression);
  if (expression?.type === "AssignmentExpression") {
    const value = text(expression.right);
    return /\bawait\b|(?<!new [\w.]+)\(|\+\+|--/.test(value) ? undefined : text(expression.left);
  }
  const callee = asNode(expression?.callee);
  if (expression?.type !== "CallExpression" || callee?.type !== "MemberExpression") return undefined;
  if (!COLLECTION.test(text(callee.property))) return undefined;
  return nodesOf(expression.arguments).some((one) => /[(=]|\+\+|--/.test(text(one))) ? undefined : text(callee.object);
}

function mentions(code: string, name: string): boolean {
  const at = code.indexOf(name);
  return at >= 0 && !/[\w$]/.test(code[at + name.length] ?? " ");
}
