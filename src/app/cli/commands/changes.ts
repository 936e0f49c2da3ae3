/** `rookery changes`: what was changed in prompt files, notes, skills and the configuration; shows and undoes it. */
import { InvalidInputError } from "../../../core/errors.ts";
import { CHANGE_KINDS, type FileChange } from "../../../core/file-change.ts";
import type { ShownChange } from "../../client/changes-resource.ts";
import { changesWithoutStore } from "../changes-without-store.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
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

export const changesCommand: Group = {
  summary: "list, show and undo changes of prompt files, notes and the configuration",
  description: "Every change by an agent, by the API or by a command is kept with both versions.",
  actions: { list, show, undo },
  fallback: "list",
};

function numberOf(text = ""): string {
  if (/^\d{1,15}$/.test(text)) return text;
  throw new InvalidInputError(`"${text.slice(0, 40)}" is not the number of a change.`, {
    hint: "`rookery changes` lists them.",
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
  const shown = diff === null ? "The difference cannot be shown." : diff === "" ? "No visible difference." : diff;
  return [line(change).trimStart(), ...run, printable(shown)].join("\n");
}
