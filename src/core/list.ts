/** The shape of every list: over HTTP, in the library and of `--json`. */
export interface List<Item, Cursor = string | number> {
  readonly items: readonly Item[];
  /** What the request for the next page names; null if this is the last page. */
  readonly next: Cursor | null;
}

export const listOf = <Item, Cursor = never>(
  items: readonly Item[],
  next: Cursor | null = null,
): List<Item, Cursor> => ({ items, next });
