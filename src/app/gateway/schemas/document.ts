/** The type of a document by its schema. Nothing in it is changed any more. */
import type { z } from "zod";

export type Document<Schema extends z.ZodType> = Unchanged<z.output<Schema>>;

type Unchanged<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Unchanged<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Unchanged<T[Key]> }
      : T;
