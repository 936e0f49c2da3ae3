/**
 * The arguments of a tool of an MCP server, by the schema that was pinned: a question about a call shows only arguments that the tool
 * takes, in the order of the schema and not of the model (M44).
 */
import { z } from "zod";

type Arguments = Record<string, unknown>;

const anything = z.record(z.string(), z.unknown());

/**
 * Patterns and formats of a server are left to the server: a regular expression of others may take forever. So are conditions, which
 * say nothing about a form that can be shown. Defaults are not filled in.
 */
const LEFT_OUT = new Set(
  "pattern patternProperties propertyNames format default if then else dependentSchemas dependentRequired $schema $id".split(
    " ",
  ),
);
/** Their keys are names, not words of JSON Schema. */
const BY_NAME = new Set(["properties", "$defs", "definitions"]);
const VALUES = new Set(["const", "enum", "required"]);

export const pinnedInput = (parameters: Arguments): z.ZodType<Arguments> => z.lazy(() => readSchema(parameters));

function readSchema(parameters: Arguments): z.ZodType<Arguments> {
  try {
    const schema = z.fromJSONSchema({ ...plainSchema(parameters), type: "object" });
    return anything.transform((given, context) => {
      const read = schema.safeParse(given);
      if (read.success) return anything.parse(read.data);
      for (const { message, path } of read.error.issues) {
        context.addIssue({ code: "custom", message, path: [...path], input: given });
      }
      return z.NEVER;
    });
  } catch {
    // The server judges what cannot be read here. The order is the schema's all the same.
    return anything.transform((given) => inOrder(given, parameters.properties));
  }
}

function plainSchema(schema: object): Arguments {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
      if (LEFT_OUT.has(key)) return [];
      if (VALUES.has(key) || typeof value !== "object" || value === null) return [[key, value]];
      if (BY_NAME.has(key)) {
        return [[key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plainValue(one)]))]];
      }
      return [[key, plainValue(value)]];
    }),
  );
}

function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue);
  return typeof value === "object" && value !== null ? plainSchema(value) : value;
}

function inOrder(given: Arguments, properties: unknown): Arguments {
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  const known = names.filter((name) => Object.hasOwn(given, name)).map((name) => [name, given[name]] as const);
  return { ...Object.fromEntries(known), ...given };
}
