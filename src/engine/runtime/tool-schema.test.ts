import { expect, it } from "vitest";
import { z } from "zod";
import { shortSchema } from "./tool-schema.ts";

it("leaves out of a schema what says nothing, and keeps what a model needs", () => {
  const schema = z.object({
    n: z.int().min(1).max(9),
    any: z.int().optional().describe("a number"),
    minimum: z.string(),
    of: z.array(z.object({ $schema: z.string(), kind: z.enum(["a", "b"]) })),
    map: z.record(z.string(), z.number()),
  });
  expect(shortSchema(z.toJSONSchema(schema) as Record<string, unknown>)).toEqual({
    type: "object",
    properties: {
      n: { type: "integer", minimum: 1, maximum: 9 },
      any: { type: "integer", description: "a number" },
      minimum: { type: "string" },
      of: {
        type: "array",
        items: {
          type: "object",
          properties: { $schema: { type: "string" }, kind: { type: "string", enum: ["a", "b"] } },
          required: ["$schema", "kind"],
        },
      },
      map: { type: "object", additionalProperties: { type: "number" } },
    },
    required: ["n", "minimum", "of", "map"],
  });
});

it.each([
  [{ additionalProperties: false }, {}],
  [{ additionalProperties: {} }, {}],
  [{ additionalProperties: true }, { additionalProperties: true }],
  [{ additionalProperties: [] }, { additionalProperties: [] }],
  [{ $schema: "x", type: "string" }, { type: "string" }],
  [{ maximum: Number.MAX_SAFE_INTEGER, minimum: Number.MIN_SAFE_INTEGER }, {}],
  [
    { maximum: Number.MIN_SAFE_INTEGER, minimum: Number.MAX_SAFE_INTEGER },
    { maximum: Number.MIN_SAFE_INTEGER, minimum: Number.MAX_SAFE_INTEGER },
  ],
  [{ propertyNames: { type: "string" } }, {}],
  [{ propertyNames: { pattern: "^a" } }, { propertyNames: { pattern: "^a" } }],
  // Data looks like a schema and is none.
  [{ default: { $schema: "x" } }, { default: { $schema: "x" } }],
  [{ const: { $schema: "x" } }, { const: { $schema: "x" } }],
  [{ enum: [{ $schema: "x" }] }, { enum: [{ $schema: "x" }] }],
  [{ examples: [{ $schema: "x" }] }, { examples: [{ $schema: "x" }] }],
  [{ anyOf: [{ $schema: "x" }, null, 1] }, { anyOf: [{}, null, 1] }],
  // A property may have any name.
  [{ properties: { default: { $schema: "x" } } }, { properties: { default: {} } }],
  [{ properties: null }, { properties: null }],
])("%j becomes %j", (schema, short) => expect(shortSchema(schema)).toEqual(short));
