/**
 * The configuration's schema as a plain tree: the known keys and the secrets. Checks for unknown keys, for secrets in plain
 * text and for complete documentation use this one tree.
 */
import { z } from "zod";
import { secretSchema } from "./secret.ts";

export type SchemaTree =
  | { readonly kind: "section"; readonly keys: ReadonlyMap<string, SchemaTree> }
  | { readonly kind: "named"; readonly value: SchemaTree }
  | { readonly kind: "list"; readonly item: SchemaTree }
  | { readonly kind: "secret" }
  | { readonly kind: "value" };

export function schemaTree(schema: unknown): SchemaTree {
  if (schema === secretSchema) return { kind: "secret" };
  if (schema instanceof z.ZodObject) {
    const shape = Object.entries(schema.shape as Record<string, unknown>);
    return { kind: "section", keys: new Map(shape.map(([key, value]) => [key, schemaTree(value)])) };
  }
  if (schema instanceof z.ZodRecord) return { kind: "named", value: schemaTree(schema.valueType) };
  if (schema instanceof z.ZodArray) return { kind: "list", item: schemaTree(schema.element) };
  if (schema instanceof z.ZodPipe) {
    // The schema of a preprocessed value is the output of the pipe; that of a transformed value is the input.
    return schemaTree(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  }
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly
  ) {
    return schemaTree(schema.unwrap());
  }
  return { kind: "value" };
}

/** Every key path that has a value, as people write it: `models.providers.<name>.models[].id`. */
export function keyPaths(tree: SchemaTree, path = ""): readonly string[] {
  switch (tree.kind) {
    case "section":
      return [...tree.keys].flatMap(([key, child]) => keyPaths(child, path === "" ? key : `${path}.${key}`));
    case "named":
      return keyPaths(tree.value, `${path}.<name>`);
    case "list":
      return keyPaths(tree.item, `${path}[]`);
    case "secret":
    case "value":
      return [path];
  }
}
