/** The shape of every list on the wire. */
import { z } from "zod";

/** `cursor`: the name of the parameter that continues the list. Without one the list has one page. */
export const listSchema = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ items: z.array(item), next: z.null().describe("Always null: there is one page.") });

export const pageSchema = <Item extends z.ZodType, Cursor extends z.ZodType>(
  item: Item,
  parameter: "after" | "before",
  cursor: Cursor,
) =>
  z.strictObject({
    items: z.array(item),
    next: cursor.nullable().describe(`Send it as \`${parameter}\` for the next page; null at the end.`),
  });
