/**
 * The mistakes that `npm run mutate` makes in TypeScript: the usual operators, and what people get wrong in this code: a
 * guard dropped, two effects swapped, an `await` forgotten, a flag not cleared, a boundary moved by one, a case left out,
 * a signal ignored, a default lost, one of two conditions enough, a timer not cancelled, the wrong one of two ids or times.
 */
import { areIndependent } from "./independent-effects.ts";
import { asMutants, type Edit, type Mutant } from "./mutant.ts";
import { sqlEdits } from "./sql-mutants.ts";
import { asNode, type Node, nodesOf, parse, walk } from "./syntax.ts";

type Visit = (node: Node, context: Context) => void;

interface Context {
  readonly source: string;
  readonly parents: readonly Node[];
  /** Names of the file by their ending, sorted. */
  readonly names: ReadonlyMap<string, readonly string[]>;
  readonly text: (node: unknown) => string;
  readonly add: (operator: string, at: Pick<Node, "start" | "end">, replacement: string) => void;
}

const COMPARED: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
};

const OPERATOR_NAMES: Readonly<Record<string, string>> = {
  "<": "boundary moved",
  "<=": "boundary moved",
  ">": "boundary moved",
  ">=": "boundary moved",
  "===": "comparison turned round",
  "!==": "comparison turned round",
};

const METHODS: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  floor: "ceil",
  ceil: "floor",
  trimStart: "trimEnd",
  trimEnd: "trimStart",
  toLowerCase: "toUpperCase",
  startsWith: "endsWith",
  endsWith: "startsWith",
  findLast: "find",
  at: "with",
  allSettled: "all",
};
const RENAMED = new Set(["some", "every", "min", "max", "floor", "ceil", "startsWith", "endsWith", "findLast"]);

const BIG = 1000;
const ENDINGS = /(?:Id|At|Ms|Key|Name|From|To|Count|Index)$/;
const LOGS = /(?:^|\.)(?:log|logger)\??\.\w+$/;
const CANCELS = /^(?:clear|cancel|abort|stop|close|dispose|release|unref|remove|delete|off|unsubscribe|unlock)/;

const VISITS: readonly Visit[] = [
  guards,
  conditions,
  effects,
  awaits,
  assignments,
  defaults,
  literals,
  cases,
  calls,
  names,
  statements,
];

const SQL = /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE)\b/;

export function typescriptMutants(file: string, source: string): readonly Mutant[] {
  const tree = parse(source, file);
  const edits: Edit[] = [];
  const names = identifiersOf(tree);
  const text = (node: unknown): string => {
    const one = asNode(node);
    return one ? source.slice(one.start, one.end) : "";
  };
  walk(tree, (node, parents) => {
    if (isStatic(node, text)) return false;
    const add: Context["add"] = (operator, at, replacement) => {
      edits.push({ operator, start: at.start, end: at.end, replacement });
    };
    const context = { source, parents, names, text, add };
    for (const visit of VISITS) visit(node, context);
    return true;
  });
  return asMutants(file, source, edits);
}

/** Texts of errors and logs, and imports: a mistake there changes no behaviour that a law is about. */
function isStatic(node: Node, text: (node: unknown) => string): boolean {
  if (node.type === "NewExpression") return /Error$/.test(text(node.callee));
  if (node.type === "CallExpression")
    return asNode(asNode(node.callee)?.object)?.type !== "CallExpression" && LOGS.test(text(node.callee));
  return node.type === "ImportDeclaration" || node.type === "ExportAllDeclaration";
}

function guards(node: Node, { add, text }: Context): void {
  if (node.type !== "IfStatement") return;
  const test = asNode(node.test);
  if (!test) return;
  const leaves = /^\{?\s*(?:return|throw|continue|break)\b/.test(text(node.consequent));
  if (leaves && !node.alternate) add("guard dropped", test, "false");
  else {
    add("branch never taken", test, "false");
    add("branch always taken", test, "true");
  }
}

function conditions(node: Node, { add, text, source }: Context): void {
  if (node.type === "LogicalExpression") {
    const { operator } = node;
    if (operator === "&&" || operator === "||") {
      add("one of two conditions enough", node, withOperator(node, operator === "&&" ? "||" : "&&", source));
      add("one condition left out", node, text(node.left));
      add("one condition left out", node, text(node.right));
    }
  }
  if (node.type === "ConditionalExpression") {
    add("branch always taken", node, text(node.consequent));
    add("branch never taken", node, text(node.alternate));
  }
  if (node.type === "UnaryExpression" && node.operator === "!") add("negation dropped", node, text(node.argument));
  if (node.type !== "BinaryExpression") return;
  const operator = String(node.operator);
  const other = COMPARED[operator];
  const isText = (operator === "+" || operator === "-") && /["'`]/.test(text(node));
  if (other === undefined || isText) return;
  add(OPERATOR_NAMES[operator] ?? "arithmetic", node, withOperator(node, other, source));
}

/** The same operands, in their parentheses, with another operator between them. */
function withOperator(node: Node, other: string, source: string): string {
  const [left, right] = [asNode(node.left)?.end ?? node.start, asNode(node.right)?.start ?? node.end];
  const between = source.slice(left, right).replace(String(node.operator), () => other);
  return source.slice(node.start, left) + between + source.slice(right, node.end);
}

/** Two statements that follow each other in the wrong order, and one that is missing. */
function effects(node: Node, { add, text }: Context): void {
  if (node.type !== "BlockStatement" && node.type !== "Program") return;
  const statements = nodesOf(node.body);
  for (const [index, statement] of statements.entries()) {
    const next = statements[index + 1];
    if (!isEffect(statement) || LOGS.test(calleeOf(statement, text))) continue;
    const call = text(statement);
    if (CANCELS.test(methodOf(statement, text))) add("not cancelled or released", statement, ";");
    else if (asNode(statement.expression)?.type !== "AssignmentExpression") add("effect left out", statement, ";");
    const isLog = next && LOGS.test(calleeOf(next, text));
    if (next && isEffect(next) && !isLog && node.type === "BlockStatement" && !areIndependent(statement, next, text)) {
      add("two effects swapped", { ...statement, end: next.end }, `${text(next)}\n${call}`);
    }
  }
}

function isEffect(statement: Node): boolean {
  const expression = asNode(statement.expression);
  if (statement.type !== "ExpressionStatement" || !expression) return false;
  return /^(?:Await|Call|Assignment|Update)Expression$/.test(expression.type);
}

/** Returns the function that a statement calls: `this.timers.clear`. */
function calleeOf(statement: Node, text: (node: unknown) => string): string {
  const expression = asNode(statement.expression);
  const call = expression?.type === "AwaitExpression" ? asNode(expression.argument) : expression;
  return text(asNode(call?.callee));
}

function methodOf(statement: Node, text: (node: unknown) => string): string {
  return calleeOf(statement, text).split(".").at(-1) ?? "";
}

function awaits(node: Node, { add, text, parents }: Context): void {
  if (node.type !== "AwaitExpression") return;
  const parent = parents.at(-1);
  if (parent?.type === "ExpressionStatement") add("await forgotten", node, `void ${text(node.argument)}`);
}

function assignments(node: Node, { add, text }: Context): void {
  if (node.type !== "AssignmentExpression") return;
  const value = text(node.right);
  if (value === "true" || value === "false")
    add("flag the wrong way", node, `${text(node.left)} = ${value === "true" ? "false" : "true"}`);
  if (/^(?:false|true|undefined|null|0|\[\])$/.test(value)) add("flag not cleared", node, "undefined");
  if (node.operator === "+=") add("arithmetic", node, `${text(node.left)} -= ${value}`);
}

function defaults(node: Node, { add, text }: Context): void {
  if (node.type === "LogicalExpression" && node.operator === "??") {
    add("default lost", node, text(node.left));
    add("default always", node, text(node.right));
  }
  if (node.type === "AssignmentPattern") add("default lost", node, text(node.left));
}

function literals(node: Node, { add, parents, text }: Context): void {
  if (node.type !== "Literal" || parents.at(-1)?.type === "TSLiteralType") return;
  const parent = parents.at(-1);
  if (parent?.type === "Property" && parent.key === node) return;
  if (typeof node.value === "number") {
    const raw = text(node);
    // A duration or a size: people mistake its unit, not its last digit.
    if (node.value >= BIG) add("wrong unit", node, `(${raw} / 1000)`);
    else {
      add("boundary moved", node, `(${raw} + 1)`);
      if (node.value > 1) add("boundary moved", node, `(${raw} - 1)`);
    }
  }
  if (typeof node.value === "boolean" && parent?.type !== "AssignmentExpression")
    add("wrong constant", node, String(!node.value));
}

/** A branch of a union left out: its case does what the default does, or nothing. */
function cases(node: Node, { add, text }: Context): void {
  if (node.type !== "SwitchCase" || !asNode(node.test)) return;
  add("branch of a union left out", asNode(node.test) as Node, `(${text(node.test)} + "?")`);
}

function calls(node: Node, { add, text, parents, source }: Context): void {
  if (
    node.type === "Property" &&
    /^(?:signal|abortSignal)$/.test(text(node.key)) &&
    parents.at(-1)?.type === "ObjectExpression"
  ) {
    add("signal ignored", node, "signal: undefined");
  }
  if (node.type === "SpreadElement" && parents.at(-1)?.type === "ObjectExpression")
    add("fields left out", node, "...{}");
  if (node.type !== "CallExpression") return;
  const callee = asNode(node.callee);
  const values = nodesOf(node.arguments);
  for (const value of values)
    if (/(?:^|\.)signal$/.test(text(value))) add("signal ignored", value, "undefined as never");
  if (callee?.type !== "MemberExpression") return;
  const property = asNode(callee.property);
  const method = text(property);
  const other = METHODS[method];
  if (property && other && RENAMED.has(method)) add("the other method", property, other);
  if (/^(?:filter|toSorted|toReversed|sort|reverse|trim)$/.test(method)) {
    const object = asNode(callee.object);
    if (object && source[object.end] !== "?") add(`${method} left out`, node, text(object));
  }
}

/** The wrong one of two: another name of the file with the same ending (`runId` for `agentId`). */
function names(node: Node, { add, parents, names }: Context): void {
  if (node.type !== "Identifier") return;
  const name = String(node.name);
  const ending = ENDINGS.exec(name)?.[0];
  const parent = parents.at(-1);
  if (ending === undefined || !parent || !isRead(node, parent)) return;
  const others = names.get(ending) ?? [];
  const other = others.find((one) => one > name) ?? others.find((one) => one !== name);
  if (other !== undefined) add("the wrong one of two", node, parent.type === "Property" ? `${name}: ${other}` : other);
}

/** A name that is read: the name of a property only where it belongs to an object, never where it is declared. */
function isRead(node: Node, parent: Node): boolean {
  if (parent.type === "MemberExpression") return true;
  if (parent.type === "Property") return parent.shorthand === true && parent.value === node;
  return parent.type === "CallExpression" || parent.type === "BinaryExpression" || parent.type === "ReturnStatement";
}

/** The names that a file reads or declares; which of them are in scope the compiler says. */
function identifiersOf(tree: Node): ReadonlyMap<string, readonly string[]> {
  const found = new Set<string>();
  walk(tree, (node) => {
    if (node.type === "Identifier" && ENDINGS.test(String(node.name))) found.add(String(node.name));
    return true;
  });
  return Map.groupBy([...found].toSorted(), (name) => ENDINGS.exec(name)?.[0] ?? "");
}

/** The text of an SQL statement. */
function statements(node: Node, { add, text }: Context): void {
  if (node.type !== "TemplateElement" || !SQL.test(text(node))) return;
  for (const edit of sqlEdits(text(node), node.start)) add(edit.operator, edit, edit.replacement);
}
