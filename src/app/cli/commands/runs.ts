/** `rookery runs`: the runs of an agent, one in detail, waiting for its end, ending it, and replaying it. */

import { shortId } from "../../../core/ids.ts";
import type { NamedRun } from "../../client/resources.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { type ListedPage, printPage, readPath } from "../list-page.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { durationText, relativeTime } from "../relative-time.ts";
import { replayAction } from "./runs-replay.ts";

const LIMIT = 20;

const list = defineAction({
  summary: "list the latest runs of an agent, newest first",
  usage: "[agent]",
  description: "Without an agent: the runs of your own conversation.",
  arguments: { min: 0, max: 1 },
  options: {
    before: { type: "string", value: "RUN", kind: "run", description: "only runs before this one" },
    limit: { type: "string", value: "N", description: `how many at most (default: ${LIMIT})` },
  },
  examples: ["rookery runs", "rookery runs list main --limit 5"],
  async run(context) {
    const { args, flags } = context;
    const limit = limitFlag(flags.limit, LIMIT, 200);
    const query = new URLSearchParams({ limit: String(limit), ...(flags.before ? { before: flags.before } : {}) });
    const path = `/api/agents/${encodeURIComponent(args[0] ?? "main")}/runs?${query}`;
    const page = await readPath<ListedPage<NamedRun>>(context, path);
    const now = Date.now();
    const rows = page.items.map(({ id, about, outcome, startedAt, endedAt, body }) => [
      ...[
        shortId(id),
        oneLine(about, 40),
        outcome ?? "open",
        relativeTime(startedAt, now),
        endedAt ? durationText(endedAt - startedAt) : "–",
      ],
      ...[String(body.iterations), String(body.usage?.totalTokens ?? 0), oneLine(body.error?.message ?? "", 80)],
    ]);
    const head = ["run", "about", "outcome", "began", "took", "calls", "tokens", "error"];
    const command = `rookery runs list ${args[0] ?? "main"}`;
    return printPage(context, page, { head, rows, empty: "No runs.", command });
  },
});

const show = defineAction({
  summary: "show one run: its state, its outcome and its answer",
  usage: "<run>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const found = await readPath<RunAnswer>(context, `/api/runs/${encodeURIComponent(context.args[0] ?? "")}`);
    return printResult(context, found, runText(found).join("\n"));
  },
});

const wait = defineAction({
  summary: "wait until a run ends; exits with 1 if it did not end well",
  usage: "<run>",
  arguments: { min: 1, max: 1 },
  options: { timeout: { type: "string", value: "SECONDS", description: "how long at most (default: 600)" } },
  async run(context) {
    const seconds = numberFlag(context.flags.timeout ?? "600", "--timeout", { max: 86_400 });
    const id = encodeURIComponent(context.args[0] ?? "");
    const until = Date.now() + seconds * 1_000;
    for (;;) {
      const timeoutMs = Math.max(0, Math.min(60_000, until - Date.now()));
      const path = `/api/runs/${id}/wait?timeoutMs=${timeoutMs}`;
      const ended = await readPath<{ status: string; outcome?: string }>(context, path);
      if (ended.status === "timeout" && Date.now() < until) continue;
      const text =
        ended.status === "ended"
          ? `The run ended: ${ended.outcome ?? "ok"}.`
          : ended.status === "timeout"
            ? "The run has not ended yet."
            : "There is no such run.";
      printResult(context, ended, text);
      return ended.status === "ended" && (ended.outcome ?? "ok") === "ok" ? undefined : 1;
    }
  },
});

const abort = defineAction({
  summary: "end a run; what it said so far stays in the history",
  usage: "<run>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const path = `/api/runs/${encodeURIComponent(context.args[0] ?? "")}/abort`;
    const done = (await withApi(context, (api) => api.ask({ method: "POST", path }))) as { aborted: boolean };
    return printResult(context, done, done.aborted ? "The run is aborted." : "The run had already ended.");
  },
});

interface RunAnswer {
  readonly state: string;
  readonly run: NamedRun | null;
  readonly result: { readonly payloads?: readonly { readonly text?: string }[] } | null;
}

function runText({ state, run, result }: RunAnswer): readonly string[] {
  if (!run) return [`The run is ${state}.`];
  const now = Date.now();
  const { id, agentId, agentName, about, startedAt, endedAt, outcome, body } = run;
  return [
    `run       ${id} (${outcome ?? state})`,
    `agent     ${agentName === undefined ? agentId : `${oneLine(agentName, 80)} (${agentId})`}`,
    ...(about ? [`about     ${oneLine(about, 200)}`] : []),
    `began     ${relativeTime(startedAt, now)}${endedAt ? `, took ${durationText(endedAt - startedAt)}` : ""}`,
    `calls     ${body.iterations} to the model, ${body.usage?.totalTokens ?? 0} tokens`,
    ...(body.error ? [`error     ${oneLine(body.error.message, 400)}`] : []),
    ...(result?.payloads ?? []).map(({ text = "" }) => `answer    ${oneLine(text, 400)}`),
  ];
}

export const runsCommand: Group = {
  summary: "list runs; show, replay, wait for or end one",
  description: "A run is one pass of model and tools over messages, until the agent rests.",
  actions: { list, show, replay: replayAction, wait, abort },
  fallback: "list",
};
