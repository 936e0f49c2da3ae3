/** `rookery config changes`: what was changed in prompt files, notes, skills and the configuration; shows and undoes it. */
import { readFileSync, statSync } from "node:fs";
import { createHome } from "../../../config/create-home.ts";
import { errorText, InvalidInputError, NotFoundError, TooLargeError, UsageError } from "../../../core/errors.ts";
import { CHANGE_KINDS, type FileChange } from "../../../core/file-change.ts";
import type { ShownChange } from "../../client/changes-resource.ts";
import { changesWithoutStore } from "../changes-without-store.ts";
import { changing, withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { oneLine, printable, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";

const list = defineAction({
  summary: "list the changes, the newest first",
  options: {
    file: { type: "string", value: "FILE", description: "only of this file, such as workspace/MEMORY.md" },
    kind: { type: "string", value: "KIND", description: `only ${CHANGE_KINDS.join(", ")}` },
  },
  async run(context) {
    const { file, kind } = context.flags;
    if (kind !== undefined && !CHANGE_KINDS.some((one) => one === kind)) {
      throw new InvalidInputError(`"${kind.slice(0, 40)}" is not a kind.`, { hint: `Use ${CHANGE_KINDS.join(", ")}.` });
    }
    const unstored = await changesWithoutStore(context);
    if (unstored) {
      const items = await unstored.list({ limit: 500, file, kind: CHANGE_KINDS.find((one) => one === kind) });
      return printList(context, { items, line, empty: "Nothing was changed." });
    }
    const given = Object.entries({ limit: "500", file, kind }).filter((one): one is [string, string] => !!one[1]);
    const path = `/api/changes?${new URLSearchParams(given)}`;
    const { items } = (await withApi(context, (api) => api.ask({ method: "GET", path }), { reads: true })) as {
      items: readonly FileChange[];
    };
    return printList(context, { items, line, empty: "Nothing was changed." });
  },
});

const show = defineAction({
  summary: "show one change with its difference",
  usage: "<change>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const path = `/api/changes/${numberOf(context.args[0])}`;
    const ask = withApi(context, (api) => api.ask({ method: "GET", path }), { reads: true });
    const change = (await ask) as ShownChange;
    return printResult(context, change, details(change));
  },
});

const undo = defineAction({
  summary: "undo a change: the file gets its content from before",
  usage: "<change>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const path = `/api/changes/${numberOf(context.args[0])}/undo`;
    const change = (await withApi(context, (api) => api.ask({ method: "POST", path, body: {} }))) as ShownChange;
    return printResult(context, change, details(change));
  },
});

const write = defineAction({
  summary: "replace a file by a text that you have reviewed",
  description:
    "Shows the difference and asks. While a command of an agent runs, an edit with your own editor is set aside with the ending .proposed; this makes it count.",
  usage: "<file>",
  arguments: { min: 1, max: 1 },
  options: {
    from: { type: "string", value: "PATH", description: "the file with the new text" },
    why: { type: "string", value: "TEXT", description: "the reason, kept with the change" },
    yes: { type: "boolean", description: "do not ask" },
  },
  examples: ["rookery config changes write workspace/SOUL.md --from SOUL.md.proposed"],
  async run(context) {
    const [file = ""] = context.args;
    const { from, why, yes = false } = context.flags;
    if (from === undefined) throw new UsageError("--from is missing.", { hint: "Name the file with the new text." });
    const text = textIn(from);
    // It may be the first command of all.
    await createHome(context.paths);
    return changing(context, async ({ changes }) => {
      const expect = (await changes.file(file)).version?.sha256 ?? null;
      const tried = await changes.write(file, text, { dryRun: true });
      if (tried.diff === "") return printResult(context, tried, `${tried.file} is like that already.`);
      if (!context.json && !yes) context.stderr.write(`${shownDiff(tried.diff)}\n`);
      if (!yes && !(await confirmed(context, `Change ${tried.file}?`, "--yes")))
        return printResult(context, tried, `${tried.file} was not changed.`);
      const made = await changes.write(file, text, { why, expect });
      const told = made.id === undefined ? `${made.file} is like that already.` : `Changed ${made.file}.`;
      const undoText = made.id === undefined ? "" : context.here(` Undo: \`rookery config changes undo ${made.id}\`.`);
      return printResult(context, made, `${told}${undoText}`);
    });
  },
});

export const changesGroup: Group = {
  summary: "list, show, make and undo changes of prompt files, notes and the configuration",
  description: "Every change by an agent, by the API or by a command is kept with both versions.",
  actions: { list, show, write, undo },
  fallback: "list",
};

function numberOf(text = ""): string {
  if (/^\d{1,15}$/.test(text)) return text;
  throw new InvalidInputError(`"${text.slice(0, 40)}" is not the number of a change.`, {
    hint: "`rookery config changes` lists them.",
  });
}

function line({ id, at, file, by, why, before, after, state, undoes, undoneBy }: FileChange): string {
  const what = before === null ? "added" : after === null ? "removed" : "changed";
  const notes = [
    state === "done" ? undefined : state === "begun" ? "in progress" : "not made",
    undoes === undefined ? undefined : `undoes ${undoes}`,
    undoneBy === undefined ? undefined : `undone by ${undoneBy}`,
    undoes === undefined && why ? oneLine(why, 100) : undefined,
  ].filter((one) => one !== undefined);
  const who =
    by.surface === "outside" ? "outside of Rookery" : `${by.tool ?? by.surface} for ${oneLine(by.person, 60)}`;
  const more = notes.length === 0 ? "" : `  (${notes.join("; ")})`;
  return `${String(id).padStart(4)}  ${timeText(at)}  ${what} ${oneLine(file, 200)} by ${who}${more}`;
}

function details(change: ShownChange): string {
  const { by, diff } = change;
  const run = by.runId === undefined ? [] : [`agent ${by.agentId}, run ${by.runId}, call ${by.callId}`];
  return [line(change).trimStart(), ...run, shownDiff(diff)].join("\n");
}

const shownDiff = (diff: string | null): string =>
  printable(diff === null ? "The difference cannot be shown." : diff === "" ? "No visible difference." : diff);

/** As much as a change may have. */
const MAX_BYTES = 8 * 1024 * 1024;

function textIn(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile()) throw new NotFoundError(`There is no file ${path}.`);
  if (stats.size > MAX_BYTES) throw new TooLargeError(`${path} has more than 8 MiB.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    throw new InvalidInputError(`${path} is not a text: ${errorText(error)}`, { cause: error });
  }
}
