/**
 * Puts many mutants into one source at once, each behind a switch that is off: `rookerySwitch(3) ? mistake : original`. A test
 * process then tries one mutant after the other without loading anything again.
 */
import type { Mutant } from "./mutant.ts";
import { asNode, type Node, nodesOf, parse, walk } from "./syntax.ts";

export interface Numbered {
  readonly number: number;
  readonly mutant: Mutant;
}

export interface Switched {
  readonly source: string;
  /** Those that stand where no switch can: they need a process of their own. */
  readonly unplaced: readonly Numbered[];
  /** Those in a constant of the module: it gets its value again when the switch is turned. */
  readonly constants: readonly Numbered[];
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly kind: "expression" | "statement" | "default" | "touch";
  readonly options: { readonly number: number; readonly text: string }[];
  readonly children: Place[];
}

/** A declaration of a constant at the top of a module. */
interface Constant {
  readonly name: string;
  readonly keyword: number;
  readonly start: number;
  readonly end: number;
  readonly after: number;
  readonly numbers: number[];
}

const EXPRESSION =
  /^(?:Binary|Logical|Conditional|Call|New|Member|Object|Array|ArrowFunction|Function|Await|Unary|Update|Assignment|TSAs|TSNonNull|TSSatisfies|Chain|TaggedTemplate|Sequence|Yield)Expression$|^(?:Identifier|Literal|TemplateLiteral)$/;
const STATEMENT = /^(?:Expression|If|Return|Throw|For|ForOf|While|Try|Switch|Block)Statement$/;

export function switched(source: string, all: readonly Numbered[]): Switched {
  const tree = parse(source);
  const root: Place = { start: 0, end: source.length, kind: "expression", options: [], children: [] };
  const unplaced: Numbered[] = [];
  const constants: Numbered[] = [];
  const declared = constantsOf(tree);
  for (const one of all) {
    const path = pathTo(tree, one.mutant);
    const at = placeOf(path, one.mutant, source);
    if (!at || !insert(root, at, one, source)) {
      unplaced.push(one);
      continue;
    }
    const constant = path.some(isFunction)
      ? undefined
      : declared.find(({ start, end }) => start <= at.start && at.end <= end);
    if (constant) {
      constant.numbers.push(one.number);
      constants.push(one);
    }
  }
  const seenWhole = [...constants, ...unplaced];
  if (seenWhole.length > 0) addTouches(tree, root, seenWhole);
  return { source: written(root, source, declared), unplaced, constants };
}

/** A test that runs a function of the module can see its constants and what has no switch. */
function addTouches(tree: Node, root: Place, constants: readonly Numbered[]): void {
  const text = `;globalThis.rookeryTouch?.(${JSON.stringify(constants.map(({ number }) => number))});`;
  walk(tree, (node, parents) => {
    const parent = parents.at(-1);
    if (node.type === "BlockStatement" && parent && isFunction(parent))
      place(root, { start: node.start + 1, end: node.start + 1, kind: "touch" }, { number: 0, text });
    return true;
  });
}

function isFunction(node: Node): boolean {
  return /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression|PropertyDefinition)$/.test(node.type);
}

function constantsOf(tree: Node): readonly Constant[] {
  return nodesOf(tree.body).flatMap((statement): readonly Constant[] => {
    const declaration = statement.type === "ExportNamedDeclaration" ? asNode(statement.declaration) : statement;
    if (declaration?.type !== "VariableDeclaration" || declaration.kind !== "const") return [];
    const [only, ...more] = nodesOf(declaration.declarations);
    const name = asNode(only?.id);
    const init = asNode(only?.init);
    if (more.length > 0 || name?.type !== "Identifier" || !init) return [];
    const { start, end } = init;
    const after = statement.end;
    return [{ name: String(name.name), keyword: declaration.start, start, end, after, numbers: [] }];
  });
}

/** The nodes that hold the mutant, the outermost first. */
function pathTo(tree: Node, { start, end }: Pick<Mutant, "start" | "end">): readonly Node[] {
  const path: Node[] = [];
  let node: Node | undefined = tree;
  while (node) {
    path.push(node);
    const below: readonly Node[] = Object.values(node).flatMap((value) => asNode(value) ?? nodesOf(value));
    node = below.find((child) => child.start <= start && end <= child.end);
  }
  return path;
}

function placeOf(
  path: readonly Node[],
  mutant: Mutant,
  source: string,
): Pick<Place, "start" | "end" | "kind"> | undefined {
  for (let index = path.length - 1; index > 0; index--) {
    const node = path[index];
    const parent = path[index - 1];
    if (!node || !parent) return undefined;
    if (node.type === "AssignmentPattern" && node.start === mutant.start && node.end === mutant.end) {
      const right = asNode(node.right);
      return right && { start: right.start, end: right.end, kind: "default" };
    }
    if (node.type === "BlockStatement") return effectsIn(node, mutant);
    if (EXPRESSION.test(node.type) && canBeExpression(node, parent, source))
      return { start: node.start, end: node.end, kind: "expression" };
    if (STATEMENT.test(node.type)) return { start: node.start, end: node.end, kind: "statement" };
    if (/Declaration$|Pattern$|^TS(?:Type|Interface)/.test(node.type)) return undefined;
  }
  return undefined;
}

/** Two statements in a row that change places. */
function effectsIn(block: Node, { start, end }: Mutant): Pick<Place, "start" | "end" | "kind"> | undefined {
  const touched = nodesOf(block.body).filter((one) => one.start < end && start < one.end);
  const plain = touched.every(({ type }) => type === "ExpressionStatement");
  return plain && touched[0]?.start === start && touched.at(-1)?.end === end
    ? { start, end, kind: "statement" }
    : undefined;
}

function canBeExpression(node: Node, parent: Node, source: string): boolean {
  const is = (field: string): boolean => parent[field] === node;
  const isList = (field: string): boolean => nodesOf(parent[field]).includes(node);
  switch (parent.type) {
    case "MemberExpression":
      if (is("property")) return parent.computed === true;
      return !/^(?:Member|Call)Expression$/.test(node.type);
    case "CallExpression":
      return is("callee") ? node.type === "Identifier" : true;
    case "NewExpression":
      return !is("callee");
    case "ChainExpression":
    case "TaggedTemplateExpression":
      return false;
    case "Property":
      return !is("key") && parent.shorthand !== true && parent.method !== true && parent.kind === "init";
    case "PropertyDefinition":
      return is("value");
    case "MethodDefinition":
      return false;
    case "AssignmentExpression":
      return is("right");
    case "UpdateExpression":
      return false;
    case "UnaryExpression":
      return parent.operator !== "delete";
    case "VariableDeclarator":
      return is("init");
    case "AssignmentPattern":
      return is("right");
    case "ArrowFunctionExpression":
    case "FunctionExpression":
    case "FunctionDeclaration":
      return is("body") && !isList("params");
    case "ForOfStatement":
      return is("right");
    case "TSNonNullExpression":
      return node.type === "Identifier";
    case "ExpressionStatement":
      return parent.directive === null || parent.directive === undefined;
    default:
      return (
        /(?:Expression|Statement|Case|Element|Literal)$/.test(parent.type) &&
        parent.type !== "ImportExpression" &&
        source.slice(node.start, node.end) !== "super"
      );
  }
}

/** Adds the place to the tree of places; false if it crosses another one. */
function insert(
  root: Place,
  { start, end, kind }: Pick<Place, "start" | "end" | "kind">,
  { number, mutant }: Numbered,
  source: string,
): boolean {
  const text =
    kind === "default"
      ? "undefined"
      : source.slice(start, mutant.start) + mutant.replacement + source.slice(mutant.end, end);
  return place(root, { start, end, kind }, { number, text });
}

function place(
  root: Place,
  { start, end, kind }: Pick<Place, "start" | "end" | "kind">,
  option: { readonly number: number; readonly text: string },
): boolean {
  let into = root;
  for (;;) {
    const same = into.children.find((one) => one.start === start && one.end === end);
    if (same) {
      if (same.kind === "statement" || kind === "statement") if (same.kind !== kind) return false;
      same.options.push(option);
      return true;
    }
    const around: Place | undefined = into.children.find((one) => one.start <= start && end <= one.end);
    if (!around) break;
    into = around;
  }
  const inside = into.children.filter((one) => start <= one.start && one.end <= end);
  if (into.children.some((one) => !inside.includes(one) && one.start < end && start < one.end)) return false;
  for (const one of inside) into.children.splice(into.children.indexOf(one), 1);
  into.children.push({ start, end, kind, options: [option], children: inside });
  return true;
}

function written(root: Place, source: string, constants: readonly Constant[]): string {
  const edits: { start: number; end: number; text: string }[] = root.children.map((one) => ({
    start: one.start,
    end: one.end,
    text: rendered(one, source),
  }));
  for (const { name, keyword, start, end, after, numbers } of constants) {
    if (numbers.length === 0) continue;
    const value = pieceOf(root, source, start, end);
    const again = `\n;{ const kept = ${name}; globalThis.rookeryConstant?.(${JSON.stringify(numbers)}, (on) => { ${name} = on ? (${value}) : kept; }); }`;
    edits.push({ start: keyword, end: keyword + "const".length, text: "let" });
    edits.push({ start: after, end: after, text: again });
  }
  let text = source;
  for (const edit of edits.toSorted((one, other) => other.start - one.start || other.end - one.end))
    text = text.slice(0, edit.start) + edit.text + text.slice(edit.end);
  return text;
}

function pieceOf(place: Place, source: string, start: number, end: number): string {
  let text = "";
  let at = start;
  const inside = place.children.filter((one) => start <= one.start && one.end <= end);
  for (const one of inside.toSorted((left, right) => left.start - right.start)) {
    text += source.slice(at, one.start) + rendered(one, source);
    at = one.end;
  }
  return text + source.slice(at, end);
}

function rendered(place: Place, source: string): string {
  if (place.kind === "touch") return place.options[0]?.text ?? "";
  const original = pieceOf(place, source, place.start, place.end);
  if (place.kind === "statement")
    return `{ ${place.options.map(({ number, text }) => `if (globalThis.rookerySwitch?.(${number})) { ${text} } else`).join(" ")} { ${original} } }`;
  return `(${place.options.map(({ number, text }) => `globalThis.rookerySwitch?.(${number}) ? (${text}) :`).join(" ")} (${original}))`;
}
