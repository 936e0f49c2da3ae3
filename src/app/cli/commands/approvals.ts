/** `rookery approvals`: the tool calls that wait for a person, and your answers to them. */
import { ConflictError, InvalidInputError, UsageError } from "../../../core/errors.ts";
import type { Approval } from "../../../core/rights/approval.ts";
import type { AlwaysScope } from "../../../core/rights/standing-yes.ts";
import { visibleText } from "../../../core/visible-text.ts";
import { type AlwaysOffers, offered, offerLines } from "../../../engine/approvals/always-rules.ts";
import { shortDigest } from "../../../engine/approvals/question.ts";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { askYesNo } from "../confirm.ts";
import { oneLine, printable, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";

const pathOf = (id: string): string => `/api/approvals/${encodeURIComponent(id)}`;

const READS = { reads: true } as const;

interface Page {
  readonly items: readonly (Approval & Named)[];
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
        const all: (Approval & Named)[] = [];
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
    const approval = await read(context);
    const how = approval.state === "pending" ? [howText(approval)] : [];
    return printResult(context, approval, [details(approval), ...how].join("\n"));
  },
});

const yes = defineAction({
  summary: "let the call happen, once",
  usage: "<id>",
  description: "At a terminal it shows the question and asks. Otherwise the digest says which call you have read.",
  arguments: { min: 1, max: 1 },
  options: {
    digest: { type: "string", value: "DIGEST", description: "the call that you have read: the last line of show" },
    always: { type: "boolean", description: "also allow exactly this call from now on" },
    pattern: { type: "boolean", description: "also allow its pattern from now on, which show prints" },
  },
  async run(context) {
    const { digest, always, pattern } = context.flags;
    if (always && pattern) throw new UsageError("Use --always or --pattern, not both.");
    const scope: AlwaysScope | undefined = pattern ? "pattern" : always ? "call" : undefined;
    const shown = await read(context);
    if (digest === undefined && shown.state === "pending" && !(await isChosen(context, shown, scope)))
      throw new UsageError("Nothing was decided.");
    if (digest !== undefined && digest !== shortDigest(shown.digest) && digest !== shown.digest) {
      throw new ConflictError(`Approval ${shown.id} is about another call than the one you saw.`, {
        hint: `Read it again: \`rookery approvals show ${shown.id}\`.`,
      });
    }
    return answer(context, { answer: "yes", always: scope, digest: shown.digest });
  },
});

/** The question and a menu. One that does not fit the window has no yes there. */
async function isChosen(context: CommandContext, shown: Shown, scope: AlwaysScope | undefined): Promise<boolean> {
  const text = [details(shown), ...(scope === undefined ? [] : [storesText(shown, scope)])].join("\n");
  const { isTTY, columns = 80, rows = 24 } = context.stdout;
  const lines = text.split("\n").reduce((sum, one) => sum + Math.max(1, Math.ceil(one.length / columns)), 0);
  if (context.json || !isTTY || !context.stdin().isTTY || lines + MENU_LINES > rows) {
    throw new UsageError("Read the question first.", {
      hint: `\`rookery approvals show ${shown.id}\` prints it, and then the command that says yes. Nothing was decided.`,
    });
  }
  context.stdout.write(`${printable(text)}\n`);
  return askYesNo(`Allow ${oneLine(shown.tool, 60)}?`);
}

const MENU_LINES = 6;

function storesText({ always }: Shown, scope: AlwaysScope): string {
  const text = always && offered(always).find((one) => one.scope === scope)?.text;
  if (text !== undefined) return `From now on it allows ${text}.`;
  const why = always?.[scope];
  throw new InvalidInputError(why && "not" in why ? why.not : "No rule can be stored for this call.");
}

export interface Named {
  readonly agentName?: string;
  readonly personName?: string;
}

type Shown = Approval & Named & { readonly always?: AlwaysOffers };

const read = async (context: CommandContext): Promise<Shown> =>
  (await withApi(context, (api) => api.ask({ method: "GET", path: pathOf(context.args[0] ?? "") }), READS)) as Shown;

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

function line({ id, state, behalf, personName, dueAt, prompt }: Approval & Named): string {
  const short = oneLine(visibleText(prompt), 60);
  return `${id}  ${state.padEnd(9)} for ${oneLine(personName ?? behalf.person, 60)}  until ${timeText(dueAt)}  ${short}`;
}

const alwaysText = (always: AlwaysOffers | undefined): readonly string[] =>
  always ? ['"Always" would store:', ...offerLines(always).map((text) => `  ${text}`)] : [];

/** After the whole question, so that whoever finds the digest has had the question before. */
const howText = ({ id, digest }: Approval): string =>
  `To allow it: rookery approvals yes ${id} --digest ${shortDigest(digest)}`;

function details({ prompt, always, ...rest }: Shown): string {
  const { id, state, agentId, agentName, runId, decidedBy, surface, reason, dueAt } = rest;
  const decided =
    decidedBy === undefined ? [] : [`${state} by ${oneLine(decidedBy, 60)} on ${oneLine(surface ?? "", 30)}`];
  const because = reason === undefined ? [] : [`because ${oneLine(reason, 500)}`];
  return [
    `${id} is ${state}, until ${timeText(dueAt)}.`,
    visibleText(prompt),
    ...decided,
    ...because,
    `agent ${agentName === undefined ? agentId : `${oneLine(agentName, 80)} (${agentId})`}, run ${runId}`,
    ...alwaysText(always),
  ].join("\n");
}
