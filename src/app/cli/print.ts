/** How commands print: for programs one JSON document, a list as `{ items, next }`; for people text. */
import { listOf } from "../../core/list.ts";
import { printableJson } from "../../core/printable.ts";
import type { CommandContext } from "./command.ts";

type Printing = Pick<CommandContext, "json" | "stdout" | "here">;

/** One result. `text`: without the last line end. */
export function printResult({ json, stdout }: Printing, value: unknown, text: string): undefined {
  stdout.write(`${json ? printableJson(JSON.stringify(value)) : text}\n`);
}

interface Listing<Item> {
  readonly items: readonly Item[];
  /** For the next page. Absent: the list is whole. */
  readonly next?: string | number | null;
  /** Summary fields beside the list, for programs. */
  readonly more?: Readonly<Record<string, unknown>>;
  line(item: Item): string;
  /** What an empty list says. */
  readonly empty: string;
  /** Lines around the items, for people. */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

export function printList<Item>(printing: Printing, listing: Listing<Item>): undefined {
  const { items, next = null, more, line, empty, before = [], after = [] } = listing;
  const lines = printing.json
    ? []
    : [
        ...before,
        ...(items.length === 0 ? [printing.here(empty)] : items.map(line)),
        ...(next === null ? [] : ["There are more: raise --limit."]),
        ...after.map((one) => printing.here(one)),
      ];
  return printResult(printing, { ...listOf(items, next), ...more }, lines.filter((one) => one !== "").join("\n"));
}
