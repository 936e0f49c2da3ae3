/**
 * `npm run tool -- cli-schema --write`: writes `docs/cli.schema.json`, the JSON schema of what each command prints with `--json`, from the
 * types of `src/app/cli/command-json.ts`. Without `--write` it fails if the file differs. Descriptions are the comments of the fields.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { API, type Checker, type Symbol as Member, SymbolFlags, type Type, TypeFlags } from "typescript/unstable/sync";

export const CLI_SCHEMA_FILE = new URL("../docs/cli.schema.json", import.meta.url);
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TYPES = `${ROOT}src/app/cli/command-json.ts`;

type Schema = Record<string, unknown>;

export function cliSchemaText(): string {
  const api = new API({ cwd: ROOT });
  try {
    const [project] = api.updateSnapshot({ openProject: `${ROOT}scripts/cli-schema.tsconfig.json` }).getProjects();
    if (!project) throw new Error("cli-schema.tsconfig.json has no project.");
    const source = project.program.getSourceFile(TYPES);
    const module = source && project.checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${TYPES} cannot be read.`);
    const writer = new SchemaWriter(project.checker);
    for (const name of importedTypes(readFileSync(TYPES, "utf8"))) {
      const symbol = project.checker.resolveName(name, SymbolFlags.Type | SymbolFlags.Alias, source);
      if (symbol) writer.name(name, project.checker.getDeclaredTypeOfSymbol(project.checker.getAliasedSymbol(symbol)));
    }
    const exported = (name: string): Type => {
      const symbol = project.checker.getMemberInModuleExports(module, name);
      if (!symbol) throw new Error(`${TYPES} has no ${name}.`);
      return project.checker.getDeclaredTypeOfSymbol(symbol);
    };
    const properties = Object.fromEntries(writer.properties(exported("CommandJson")));
    const $defs = { CommandError: writer.object(exported("CommandError")), ...writer.named() };
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "What each command of Rookery prints with --json",
      description: "By the name of the command. A command that fails writes a CommandError to standard error.",
      type: "object",
      properties,
      additionalProperties: false,
      $defs,
    };
    return textOf(schema);
  } finally {
    api.close();
  }
}

/** A line for each command and each definition. */
function textOf(schema: object): string {
  const lines = Object.entries(schema).map(([key, value]) => {
    const isTable = key === "properties" || key === "$defs";
    const rows = isTable
      ? Object.entries(value as object).map(([name, one]) => `  ${JSON.stringify(name)}: ${JSON.stringify(one)}`)
      : [];
    return ` ${JSON.stringify(key)}: ${isTable ? `{\n${rows.join(",\n")}\n }` : JSON.stringify(value)}`;
  });
  return `{\n${lines.join(",\n")}\n}\n`;
}

/** The names of the imported types. Each gets one definition, including unions and types made by generic types. */
const importedTypes = (source: string): readonly string[] =>
  [...source.matchAll(/^import type \{ (.*) \} from/gm)].flatMap(([, names = ""]) => names.split(", "));

/** Makes schemas of types. A type with a name becomes a definition, so that it is written once and may contain itself. */
class SchemaWriter {
  readonly #checker: Checker;
  readonly #names = new Map<number, string>();
  /** Named unions, by their members: a field that may be missing has a union of its own. */
  readonly #unions = new Map<string, Type>();
  readonly #defs = new Map<string, Schema>();

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  /** Gives a type the name that it is written under. A type with parameters is not known by its declaration. */
  name(name: string, type: Type): void {
    if (type.isErrorType() || this.#names.has(type.id)) return;
    this.#names.set(type.id, name);
    if (type.isUnionType()) this.#unions.set(membersKey(type.getTypes()), type);
  }

  named(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#defs].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  properties(type: Type): readonly (readonly [string, Schema])[] {
    return this.#members(type).map(({ member, of }) => [member.name, this.#described(member, this.#schema(of))]);
  }

  object(type: Type): Schema {
    const members = this.#members(type);
    const required = members
      .filter(({ member, of }) => (member.flags & SymbolFlags.Optional) === 0 && !mayBeUndefined(of))
      .map(({ member }) => member.name);
    const [index] = this.#checker.getIndexInfosOfType(type);
    return {
      type: "object",
      properties: Object.fromEntries(
        members.map(({ member, of }) => [member.name, this.#described(member, this.#schema(of))]),
      ),
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: index ? this.#schema(index.valueType) : false,
    };
  }

  /** JSON has no functions. */
  #members(type: Type): readonly { readonly member: Member; readonly of: Type }[] {
    return this.#checker.getPropertiesOfType(type).flatMap((member) => {
      const of = this.#checker.getTypeOfSymbol(member);
      if (!of || this.#isFunction(of)) return [];
      return [{ member, of }];
    });
  }

  #isFunction(type: Type): boolean {
    return type.isObjectType() && this.#checker.getSignaturesOfType(type, 0).length > 0;
  }

  #described(member: Member, schema: Schema): Schema {
    const description = member.getDocumentationComment(this.#checker).replaceAll(/\s+/g, " ").trim();
    return description === "" ? schema : { ...schema, description };
  }

  #schema(type: Type): Schema {
    const name = this.#names.get(type.id);
    if (name === undefined) return this.#written(type);
    if (!this.#defs.has(name)) {
      // Known before it is written: it may contain itself.
      this.#defs.set(name, {});
      this.#defs.set(name, this.#written(type));
    }
    return { $ref: `#/$defs/${name}` };
  }

  #written(type: Type): Schema {
    const { flags } = type;
    if (flags & (TypeFlags.Any | TypeFlags.Unknown)) return {};
    if (flags & TypeFlags.Never) return { not: {} };
    if (flags & TypeFlags.Null) return { type: "null" };
    if (type.isLiteralType()) return { const: type.value };
    if (flags & (TypeFlags.String | TypeFlags.TemplateLiteral)) return { type: "string" };
    if (flags & TypeFlags.Number) return { type: "number" };
    if (flags & TypeFlags.Boolean) return { type: "boolean" };
    if (type.isUnionType()) return this.#union(type.getTypes());
    if (type.isIntersectionType()) {
      // A branded string or number.
      const plain = type.getTypes().find((one) => one.flags & (TypeFlags.String | TypeFlags.Number));
      if (plain) return this.#schema(plain);
      return this.#object(type);
    }
    if (this.#checker.isTupleType(type)) {
      const items = this.#checker.getTypeArguments(type as never).map((one) => this.#schema(one));
      return { type: "array", prefixItems: items, items: false };
    }
    if (this.#checker.isArrayLikeType(type)) {
      const [item] = this.#checker.getTypeArguments(type as never);
      return item ? { type: "array", items: this.#schema(item) } : { type: "array" };
    }
    if (type.isObjectType()) return this.#object(type);
    if (flags & TypeFlags.NonPrimitive) return { type: "object" };
    throw new Error(`No schema for ${this.#checker.typeToString(type)}.`);
  }

  #union(types: readonly Type[]): Schema {
    const defined = types.filter(({ flags }) => (flags & TypeFlags.Undefined) === 0);
    const whole = defined.length < types.length ? this.#unions.get(membersKey(defined)) : undefined;
    if (whole) return this.#schema(whole);
    const literals = defined.filter((one) => one.isLiteralType() && typeof one.value !== "boolean");
    const booleans = defined.filter((one) => one.isBooleanLiteralType());
    const rest = defined.filter((one) => !one.isLiteralType());
    const some: Schema[] = [
      ...(literals.length > 0 ? [{ enum: literals.map((one) => (one as unknown as { value: unknown }).value) }] : []),
      ...(booleans.length === 2 ? [{ type: "boolean" }] : booleans.map(({ value }) => ({ const: value }))),
      ...rest.map((one) => this.#schema(one)),
    ];
    const [only] = some;
    return some.length === 1 && only ? only : { anyOf: some };
  }

  #object(type: Type): Schema {
    if (this.#checker.getPropertiesOfType(type).length === 0 && this.#checker.getIndexInfosOfType(type).length === 0)
      return {};
    if (this.#names.has(type.id)) return this.object(type);
    const name = this.#nameOf(type);
    if (name === undefined) return this.object(type);
    this.#names.set(type.id, name);
    return this.#schema(type);
  }

  /** Two types of one name get a number. A type with arguments has no name of its own. */
  #nameOf(type: Type): string | undefined {
    const isGeneric = type.getAliasTypeArguments().length > 0 || (type.isTypeReference() && this.#hasArguments(type));
    const symbol = type.getAliasSymbol() ?? type.getSymbol();
    if (isGeneric || !symbol || !/^[A-Z]\w*$/.test(symbol.name)) return undefined;
    const taken = new Set(this.#names.values());
    let name = symbol.name;
    for (let n = 2; taken.has(name); n++) name = `${symbol.name}${n}`;
    return name;
  }

  #hasArguments(type: Type): boolean {
    return this.#checker.getTypeArguments(type as never).length > 0;
  }
}

const membersKey = (types: readonly Type[]): string =>
  types
    .map(({ id }) => id)
    .sort((a, b) => a - b)
    .join();

const mayBeUndefined = (type: Type): boolean =>
  (type.flags & TypeFlags.Undefined) !== 0 ||
  (type.isUnionType() && type.getTypes().some(({ flags }) => (flags & TypeFlags.Undefined) !== 0));

if (import.meta.main) {
  const text = cliSchemaText();
  if (process.argv.includes("--write")) writeFileSync(CLI_SCHEMA_FILE, text);
  else if (readFileSync(CLI_SCHEMA_FILE, "utf8") !== text) {
    console.error("docs/cli.schema.json is not up to date: run `npm run tool -- cli-schema --write`.");
    process.exitCode = 1;
  }
}
