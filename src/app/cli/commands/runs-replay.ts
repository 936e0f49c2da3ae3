/** `rookery runs replay`: one run step by step, going on from one of its steps, and a file of it for a bug report. */

import { writeFile } from "node:fs/promises";
import { maskSecrets } from "../../../adapters/system/json-log.ts";
import type { Delivery } from "../../../core/delivery/delivery.ts";
import { InvalidInputError, UsageError } from "../../../core/errors.ts";
import type { Block, Entry } from "../../../core/history/entry.ts";
import type { Approval } from "../../../core/rights/approval.ts";
import type { RunResult } from "../../../core/run/run.ts";
import type { NamedRun } from "../../client/resources.ts";
import { type Api, withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { knownSecrets, withoutSecrets } from "../known-secrets.ts";
import { numberFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";

export interface Timeline {
  readonly state: string;
  readonly run: NamedRun;
  readonly result: RunResult | null;
  readonly context: readonly { readonly part: string; readonly source: string; readonly tokens: number }[];
  readonly entries: readonly { readonly position: number; readonly entry: Entry }[];
  /** The entry that the run continued. */
  readonly before: string | null;
  readonly approvals: readonly Approval[];
  readonly deliveries: readonly Delivery[];
}

export const replayAction = defineAction({
  summary: "show what a run saw, answered and did, step by step",
  usage: "<run>",
  description:
    "Shows what the model saw by part with estimated tokens, each answer, each tool call with its result, and when it was committed. --at N --fork lets the conversation go on from step N: nothing is deleted, the later steps stay as a branch. --export FILE writes everything into one file for a bug report, with secrets masked; it contains the texts of the conversation.",
  arguments: { min: 1, max: 1 },
  options: {
    at: { type: "string", value: "STEP", description: "only this step" },
    fork: { type: "boolean", description: "let the conversation go on from this step" },
    export: { type: "string", value: "FILE", description: "write the run into a new file, secrets masked" },
    full: { type: "boolean", description: "do not cut long texts" },
  },
  examples: ["rookery runs replay 01a1e77f", "rookery runs replay 01a1e77f --at 3 --fork"],
  async run(context) {
    const { args, flags } = context;
    const at = numberFlag(flags.at, "--at");
    if (flags.fork && at === undefined) throw new UsageError("--fork needs --at: the step to go on from.");
    const path = `/api/runs/${encodeURIComponent(args[0] ?? "")}/timeline`;
    return withApi(context, async (api) => {
      const timeline = (await api.ask({ method: "GET", path })) as Timeline;
      if (flags.fork) return fork(context, api, timeline, at ?? 1);
      if (flags.export !== undefined) return exportRun(context, timeline, flags.export);
      const steps = timeline.entries.map((one, index) => ({ step: index + 1, ...one }));
      const shown = at === undefined ? steps : steps.filter(({ step }) => step === at);
      const lines = shown.map(({ step, entry }) => stepText(step, entry, timeline.run.startedAt, flags.full ?? false));
      const text = at === undefined ? [...headLines(timeline), ...lines, ...endLines(timeline)] : lines;
      return printResult(
        context,
        { ...timeline, entries: shown },
        text.length === 0 ? "There is no such step." : text.join("\n"),
      );
    });
  },
});

async function fork(context: CommandContext, api: Api, { run, entries }: Timeline, at: number): Promise<undefined> {
  const entry = entries[at - 1]?.entry;
  if (!entry) throw new InvalidInputError(`The run has ${entries.length} steps.`);
  const body = { entryId: entry.id, wait: false };
  const posted = await api.ask({ method: "POST", path: `/api/agents/${run.agentId}/branch`, body });
  const done = `The conversation goes on from step ${at}. Your next message continues there; the later steps stay as a branch.`;
  return printResult(context, { ...(posted as object), entryId: entry.id }, done);
}

/** Written only if the file does not exist: it may be the only copy of something else. */
async function exportRun(context: CommandContext, timeline: Timeline, file: string): Promise<undefined> {
  const { readVersion } = await import("../../../adapters/system/version.ts");
  const { config } = await context.loadConfig();
  const about = {
    format: "rookery-run",
    version: readVersion(),
    node: process.versions.node,
    platform: process.platform,
  };
  const whole = JSON.stringify({ ...about, exportedAt: Date.now(), config, ...timeline }, null, 1);
  const text = maskSecrets(withoutSecrets(whole, knownSecrets(context, config)));
  await writeFile(file, `${text}\n`, { flag: "wx", mode: 0o600 }).catch((cause: NodeJS.ErrnoException) => {
    const what = cause.code === "EEXIST" ? "exists already and was not changed" : `cannot be written: ${cause.message}`;
    throw new InvalidInputError(`${file} ${what}.`, { cause, hint: "Name another file." });
  });
  const steps = timeline.entries.length;
  return printResult(
    context,
    { file, steps },
    `Wrote ${file}: ${steps} steps, keys and tokens masked. It contains the texts of the conversation: read it before you send it.`,
  );
}

function headLines({ run, context, state }: Timeline): readonly string[] {
  const total = context.reduce((sum, { tokens }) => sum + tokens, 0);
  return [
    `run ${run.id} (${run.outcome ?? state}), ${run.body.iterations} calls, ${run.body.usage?.totalTokens ?? 0} tokens`,
    `The model saw about ${total} tokens:`,
    ...context.map(
      ({ part, source, tokens }) => `  ${String(tokens).padStart(7)}  ${oneLine(part, 40)} (${oneLine(source, 60)})`,
    ),
    "",
  ];
}

const endLines = ({ approvals, deliveries }: Timeline): readonly string[] => [
  ...approvals.map(({ id, tool, state }) => `  asked ${id}: ${oneLine(tool, 40)} (${state})`),
  ...deliveries.map(({ id, state, payload }) => `  delivery ${id}: ${state}  ${oneLine(payload.text ?? "", 80)}`),
];

function stepText(step: number, entry: Entry, startedAt: number, isFull: boolean): string {
  const at =
    "timestamp" in entry && typeof entry.timestamp === "number"
      ? `${entry.timestamp < startedAt ? "" : "+"}${((entry.timestamp - startedAt) / 1_000).toFixed(1)} s`
      : "";
  const cut = (text: string): string => (isFull ? text : oneLine(text, 300));
  const [what, text] = entryText(entry);
  return `${String(step).padStart(4)}  ${at.padEnd(10)} ${what.padEnd(10)} ${cut(text)}`.trimEnd();
}

function entryText(entry: Entry): readonly [string, string] {
  if (entry.type === "message") return [entry.role, blocksText(entry.content)];
  if (entry.type === "custom_message") return ["note", blocksText(entry.content)];
  if (entry.type === "compaction" || entry.type === "branch_summary") return [entry.type, entry.summary];
  return [entry.type, ""];
}

const blocksText = (blocks: readonly Block[]): string =>
  blocks
    .map((block) => {
      if (block.type === "text") return block.text;
      if (block.type === "thinking") return `(thinking) ${block.thinking}`;
      return block.type === "toolCall" ? `→ ${block.name}(${JSON.stringify(block.arguments)})` : `<${block.type}>`;
    })
    .join("\n");
