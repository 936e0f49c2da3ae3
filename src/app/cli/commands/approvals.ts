/** `rookery approvals`: the tool calls that wait for a person, and your answers to them. */
import { InvalidInputError } from "../../../core/errors.ts";
import type { Approval } from "../../../core/rights/approval.ts";
import { RULE_WIDTHS } from "../../../core/rights/rule-widths.ts";
import { visibleText } from "../../../core/visible-text.ts";
import { type AlwaysWidths, widthLines } from "../../../engine/approvals/always-rules.ts";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { oneLine, printable, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";

const pathOf = (id: string): string => `/api/approvals/${encodeURIComponent(id)}`;

const READS = { reads: true } as const;

interface Page {
  readonly items: readonly Approval[];
  readonly next: number | null;
}

const list = defineAction({
  summary: "list the calls that wait for an answer",
  options: { all: { type: "boolean", description: "also those that were answered or have ended" } },
  async run(context) {
    const state = context.flags.all ? "all" : "open";
    const approvals = await withApi(
      context,
      async (api) => {
        const all: Approval[] = [];
        for (let before = ""; ; ) {
          const page = (await api.ask({
            method: "GET",
            path: `/api/approvals?state=${state}&limit=500${before}`,
          })) as Page;
          all.push(...page.items);
          if (page.next === null) return all;
          before = `&before=${page.next}`;
        }
      },
      READS,
    );
    return printList(context, { items: approvals, line, empty: "Nothing waits for an answer." });
  },
});

const show = defineAction({
  summary: "show one call with all its arguments",
  usage: "<id>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const approval = (await withApi(
      context,
      (api) => api.ask({ method: "GET", path: pathOf(context.args[0] ?? "") }),
      READS,
    )) as Shown;
    return printResult(context, approval, details(approval));
  },
});

const yes = defineAction({
  summary: "let the call happen, once",
  usage: "<id>",
  arguments: { min: 1, max: 1 },
  options: {
    always: { type: "boolean", description: "also allow the same from now on; shows the rule in three widths" },
    width: { type: "string", value: "WIDTH", description: "with --always: call, prefix or tool" },
  },
  async run(context) {
    const { always, width } = context.flags;
    if (width !== undefined && !RULE_WIDTHS.some((one) => one === width)) {
      throw new InvalidInputError(`"${width.slice(0, 40)}" is not a width.`, { hint: "Use call, prefix or tool." });
    }
    if (always && width === undefined) await assertOneWidth(context);
    return answer(context, { answer: "yes", always: width ?? always });
  },
});

/** Before a rule is stored, people see its widths. Without a choice there is nothing to see. */
async function assertOneWidth(context: CommandContext): Promise<void> {
  const [id = ""] = context.args;
  const shown = (await withApi(context, (api) => api.ask({ method: "GET", path: pathOf(id) }))) as Shown;
  const lines = shown.always && widthLines(shown.always);
  if (!lines) return;
  throw new InvalidInputError(`Choose what to allow from now on:\n${printable(lines.join("\n"))}`, {
    hint: `rookery approvals yes ${shown.id} --always --width prefix. Nothing was decided.`,
  });
}

type Shown = Approval & { readonly always?: AlwaysWidths };

const no = defineAction({
  summary: "refuse the call",
  usage: "<id>",
  arguments: { min: 1, max: 1 },
  options: { reason: { type: "string", value: "TEXT", description: "why; the agent reads it" } },
  run: (context) => answer(context, { answer: "no", reason: context.flags.reason }),
});

async function answer(context: CommandContext, body: object): Promise<undefined> {
  const path = pathOf(context.args[0] ?? "");
  const decided = (await withApi(context, (api) => api.ask({ method: "POST", path, body }))) as Approval;
  return printResult(context, decided, `${decided.id} is ${decided.state}.`);
}

export const approvalsCommand: Group = {
  summary: "list the calls that wait for your answer; say yes or no",
  description: "A run that waits for an answer holds nothing and does not block its conversation. No answer means no.",
  actions: { list, show, yes, no },
  fallback: "list",
};

function line({ id, state, behalf, dueAt, prompt }: Approval): string {
  const short = oneLine(visibleText(prompt), 60);
  return `${id}  ${state.padEnd(9)} for ${oneLine(behalf.person, 60)}  until ${timeText(dueAt)}  ${short}`;
}

const alwaysText = (always: AlwaysWidths | undefined): readonly string[] => {
  const lines = always && widthLines(always);
  return lines ? ['"Always" would store:', ...printable(lines.join("\n")).split("\n")] : [];
};

function details({ prompt, always, ...rest }: Shown): string {
  const { id, state, agentId, runId, decidedBy, surface, reason, dueAt } = rest;
  const decided =
    decidedBy === undefined ? [] : [`${state} by ${oneLine(decidedBy, 60)} on ${oneLine(surface ?? "", 30)}`];
  const because = reason === undefined ? [] : [`because ${oneLine(reason, 500)}`];
  return [
    `${id} is ${state}, until ${timeText(dueAt)}.`,
    visibleText(prompt),
    ...decided,
    ...because,
    `agent ${agentId}, run ${runId}`,
    ...alwaysText(always),
  ].join("\n");
}
