/**
 * JSON Schema of valibot's schemas, which cannot describe themselves: the kinds that inputs of tools are made of. Anything else has no
 * description here, and its tool says so.
 */

type Json = Readonly<Record<string, unknown>>;

interface Valibot {
  readonly kind: "schema" | "validation" | "metadata" | "transformation";
  readonly type: string;
  readonly entries?: Readonly<Record<string, Valibot>>;
  readonly item?: Valibot;
  readonly wrapped?: Valibot;
  readonly value?: Valibot;
  readonly options?: readonly unknown[];
  readonly literal?: unknown;
  readonly requirement?: unknown;
  readonly description?: string;
  readonly pipe?: readonly Valibot[];
}

/** A schema inside itself never ends. */
const MAX_DEPTH = 32;

/** Undefined if a part of it has no form here. */
export function valibotJsonSchema(schema: unknown): Json | undefined {
  return convert(schema as Valibot, 0);
}

function convert(schema: Valibot | undefined, depth: number): Json | undefined {
  if (schema?.kind !== "schema" || depth > MAX_DEPTH) return undefined;
  const base = baseOf(schema, depth);
  const more = (schema.pipe ?? []).filter(({ kind }) => kind !== "schema").map(restriction);
  return base && Object.assign({}, base, ...more);
}

const SIMPLE: Readonly<Record<string, Json>> = {
  string: { type: "string" },
  number: { type: "number" },
  boolean: { type: "boolean" },
  null: { type: "null" },
  any: {},
  unknown: {},
};

function baseOf(schema: Valibot, depth: number): Json | undefined {
  const { type, item, wrapped, value, options = [], literal } = schema;
  const simple = SIMPLE[type];
  if (simple) return simple;
  const inner = (one: unknown): Json | undefined => convert(one as Valibot, depth + 1);
  switch (type) {
    case "object":
    case "loose_object":
    case "strict_object":
      return objectOf(schema, depth);
    case "array":
      return part(inner(item), (items) => ({ type: "array", items }));
    case "record":
      return part(inner(value), (additionalProperties) => ({ type: "object", additionalProperties }));
    case "optional":
    case "exact_optional":
      return inner(wrapped);
    case "nullable":
    case "nullish":
      return part(inner(wrapped), (one) => ({ anyOf: [one, { type: "null" }] }));
    case "literal":
      return { const: literal };
    case "picklist":
    case "enum":
      return { enum: options };
    case "union":
    case "variant": {
      const all = options.map(inner);
      return all.every((one) => one !== undefined) ? { anyOf: all } : undefined;
    }
    default:
      return undefined;
  }
}

const part = (one: Json | undefined, whole: (one: Json) => Json): Json | undefined => one && whole(one);

const OPTIONAL: readonly string[] = ["optional", "exact_optional", "nullish"];

function objectOf({ type, entries = {} }: Valibot, depth: number): Json | undefined {
  const properties: Record<string, Json> = {};
  for (const [name, entry] of Object.entries(entries)) {
    const converted = convert(entry, depth + 1);
    if (!converted) return undefined;
    properties[name] = converted;
  }
  const required = Object.keys(entries).filter((name) => !OPTIONAL.includes(entries[name]?.type ?? ""));
  const closed = type === "strict_object" ? { additionalProperties: false } : {};
  return { type: "object", properties, required, ...closed };
}

/** What a pipe adds. Unknown checks add nothing: they are made when a call comes. */
function restriction({ type, requirement, description }: Valibot): Json {
  switch (type) {
    case "description":
      return { description };
    case "min_length":
      return { minLength: requirement };
    case "max_length":
      return { maxLength: requirement };
    case "min_value":
      return { minimum: requirement };
    case "max_value":
      return { maximum: requirement };
    case "integer":
      return { type: "integer" };
    case "email":
      return { format: "email" };
    case "url":
      return { format: "uri" };
    default:
      return {};
  }
}
