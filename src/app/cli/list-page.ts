/** Commands that list page by page: what they read, and how they say what comes next. */
import { shortId } from "../../core/ids.ts";
import { withApi } from "./client/with-api.ts";
import type { CommandContext } from "./command.ts";
import { fitTable, terminalWidth } from "./fit-table.ts";
import { printResult } from "./print.ts";

export interface ListedPage<Item> {
  readonly items: readonly Item[];
  readonly next: string | number | null;
}

/** Reads from the engine that runs, or from the home. Changes nothing. */
export const readPath = <Answer>(context: CommandContext, path: string): Promise<Answer> =>
  withApi(context, (api) => api.ask({ method: "GET", path }), { reads: true }) as Promise<Answer>;

interface PageText {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Said if there are no rows. */
  readonly empty: string;
  /** The command without `--before`. */
  readonly command: string;
}

/** Shortens a cursor that is an id. Any other cursor is for programs. */
function moreText(next: string | number, command: string): string {
  if (typeof next === "string" && shortId(next) === next) return "There are more: raise `--limit`.";
  return `To see more, run \`${command} --before ${shortId(String(next))}\``;
}

export function printPage(
  context: CommandContext,
  page: ListedPage<unknown>,
  { head, rows, empty, command }: PageText,
): undefined {
  const table = fitTable(head, rows, { width: terminalWidth(context.stdout) });
  const more = page.next === null ? "" : context.here(`\n${moreText(page.next, command)}`);
  return printResult(context, page, rows.length === 0 ? empty : `${table}${more}`);
}
