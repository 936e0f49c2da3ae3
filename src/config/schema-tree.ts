/**
 * The configuration's schema as a plain tree: the known keys with what they are, and the secrets. Checks for unknown keys and for
 * secrets in plain text, the reference and the tests of keys use this one tree.
 */
import { z } from "zod";
import { secretSchema } from "./secret.ts";

/** The metadata of a key in the schema: `.describe("…")` or `.meta({ … })`. */
export interface About {
  readonly description?: string;
  /** The key whose settings this place takes too. They are described there and count once. */
  readonly as?: string;
  /** The page that explains a section. */
  readonly page?: string;
}

type Shape =
  | { readonly kind: "section"; readonly keys: ReadonlyMap<string, SchemaTree> }
  | { readonly kind: "named"; readonly value: SchemaTree }
  | { readonly kind: "list"; readonly item: SchemaTree }
  | { readonly kind: "secret" }
  | { readonly kind: "value" };
export type SchemaTree = Shape & { readonly about: About };

const NOTHING: About = {};

export function schemaTree(schema: z.core.$ZodType, outer: About = NOTHING): SchemaTree {
  // A wrapper has what its inner schema says unless it says something else.
  const about = outer === NOTHING ? ((z.globalRegistry.get(schema) as About | undefined) ?? NOTHING) : outer;
  if (schema._zod.def === secretSchema._zod.def) return { kind: "secret", about };
  if (schema instanceof z.ZodObject) {
    const shape = Object.entries(schema.shape as Record<string, z.core.$ZodType>);
    return { kind: "section", keys: new Map(shape.map(([key, value]) => [key, schemaTree(value)])), about };
  }
  if (schema instanceof z.ZodRecord) return { kind: "named", value: schemaTree(schema.valueType), about };
  if (schema instanceof z.ZodArray) return { kind: "list", item: schemaTree(schema.element), about };
  if (schema instanceof z.ZodPipe) {
    // The schema of a preprocessed value is the output of the pipe; that of a transformed value is the input.
    return schemaTree(schema.in instanceof z.ZodTransform ? schema.out : schema.in, about);
  }
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly
  ) {
    return schemaTree(schema.unwrap(), about);
  }
  return { kind: "value", about };
}

interface Key {
  /** As people write it: `models.providers.<name>.models[].id`. */
  readonly path: string;
  /** The nearest description: that of a list or of names is also that of what is in them. */
  readonly about: About;
}

/** Every key that has a value. A place that takes the settings of another key is one key; with `isWhole` it has all of them. */
export function keysOf(tree: SchemaTree, isWhole = false, path = "", outer: About = NOTHING): readonly Key[] {
  const about = tree.about.description === undefined ? outer : tree.about;
  if (tree.about.as !== undefined && !isWhole) return [{ path, about }];
  switch (tree.kind) {
    case "section":
      return [...tree.keys].flatMap(([key, child]) => keysOf(child, isWhole, path === "" ? key : `${path}.${key}`));
    case "named":
      return keysOf(tree.value, isWhole, `${path}.<name>`, about);
    case "list":
      return keysOf(tree.item, isWhole, `${path}[]`, about);
    case "secret":
    case "value":
      return [{ path, about }];
  }
}
