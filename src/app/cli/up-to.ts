/** As many items of a list as a command asks for: a route gives them in pages. */
import type { List } from "../../core/list.ts";

/** The most that every list of the API gives at once. */
const PAGE = 500;

/** `read` gets how many to read and where to begin: at `first`, then at the `next` of each page. */
export async function upTo<Item, Cursor>(
  count: number,
  first: Cursor | undefined,
  read: (limit: number, from: Cursor | undefined) => Promise<List<Item, Cursor>>,
): Promise<List<Item, Cursor>> {
  const items: Item[] = [];
  let next: Cursor | null | undefined = first;
  while (items.length < count && next !== null) {
    const page: List<Item, Cursor> = await read(Math.min(PAGE, count - items.length), next);
    items.push(...page.items);
    next = page.next;
  }
  return { items, next: next ?? null };
}
