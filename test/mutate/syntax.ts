/** The syntax tree of a TypeScript file as plain nodes with positions, and a walk over it. */
import { parseAst } from "rolldown/parseAst";

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** `file` tells TypeScript from TSX. */
export function parse(source: string, file = "x.ts"): Node {
  return asNode(parseAst(source, { lang: file.endsWith("x") ? "tsx" : "ts" })) as Node;
}

export function asNode(value: unknown): Node | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return typeof (value as { type?: unknown }).type === "string" ? (value as Node) : undefined;
}

export function nodesOf(value: unknown): readonly Node[] {
  return Array.isArray(value) ? value.flatMap((one) => asNode(one) ?? []) : [];
}

/** Types have no effect when the program runs. */
const TYPES = /^TS(?!AsExpression|NonNullExpression|SatisfiesExpression|ParameterProperty)/;

/** Visits every node that takes part when the program runs, parents before children; not those below where it says false. */
export function walk(
  node: Node,
  visit: (node: Node, parents: readonly Node[]) => boolean | undefined,
  parents: Node[] = [],
): void {
  if (TYPES.test(node.type) || visit(node, parents) === false) return;
  parents.push(node);
  for (const value of Object.values(node)) {
    const one = asNode(value);
    if (one) walk(one, visit, parents);
    else for (const item of nodesOf(value)) walk(item, visit, parents);
  }
  parents.pop();
}
