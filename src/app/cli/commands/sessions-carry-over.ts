/** `rookery sessions carry-over`: what a change of `session.dmScope` leaves behind, and your decision about it. */

import type { LeftBehind, StaysBecause } from "../../../core/agent/left-behind.ts";
import { DM_SCOPES } from "../../../core/agent/session-key.ts";
import { UsageError } from "../../../core/errors.ts";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { askYesNo } from "../confirm.ts";
import { fitTable, terminalWidth } from "../fit-table.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { relativeTime } from "../relative-time.ts";

export interface Plan {
  readonly scope: string;
  readonly warning: string | null;
  readonly total: number;
  readonly items: readonly (LeftBehind & { readonly agentName?: string })[];
}

const WHY: Readonly<Record<StaysBecause, string>> = {
  shared: "stays: several people share it, or would",
  begun: "stays: its person has begun a newer one (--replace)",
  older: "stays: another one of this person is newer",
};

export const carryOverAction = defineAction({
  summary: "list conversations that a change of session.dmScope leaves behind, and carry them over",
  description:
    "New messages of a person then go to the conversation the person had. Its open work, jobs and questions stay with it. Without --yes or --leave it only lists, and asks in a terminal.",
  options: {
    to: { type: "string", value: "SCOPE", description: "look at another scope before you set it" },
    yes: { type: "boolean", description: "carry them over" },
    replace: { type: "boolean", description: "also where the person has begun a newer one, which then stays behind" },
    leave: { type: "boolean", description: "leave them behind for good; nobody is asked again" },
  },
  examples: ["rookery sessions carry-over", "rookery sessions carry-over --to per-peer --yes"],
  async run(context) {
    const { flags, stdout } = context;
    const to = DM_SCOPES.find((one) => one === flags.to);
    if (flags.to !== undefined && to === undefined) {
      throw new UsageError(`"${flags.to.slice(0, 64)}" is no scope.`, { hint: `Use one of ${DM_SCOPES.join(", ")}.` });
    }
    if (flags.yes && flags.leave) throw new UsageError("Choose one of --yes and --leave.");
    if (flags.leave) return answer(context, { answer: "leave" }, () => "They stay as they are. Nobody is asked again.");
    const plan = await readPlan(context, to);
    const offered = plan.items.filter(
      ({ stays }) => stays === undefined || (flags.replace && stays === "begun"),
    ).length;
    if (!flags.yes) {
      printResult(context, plan, textOf(plan, terminalWidth(stdout)));
      if (offered === 0 || context.json || !(await agrees(context, offered))) return undefined;
    }
    const body = { answer: "carry", scope: to, replace: flags.replace };
    return answer(context, body, (n) => `${n} carried over. New messages of these people go on there.`);
  },
});

const readPlan = async (context: CommandContext, to: string | undefined): Promise<Plan> => {
  const query = to === undefined ? "" : `?${new URLSearchParams({ scope: to })}`;
  return (await withApi(context, (api) => api.ask({ method: "GET", path: `/api/carry-over${query}` }), {
    reads: true,
  })) as Plan;
};

async function answer(context: CommandContext, body: object, text: (carried: number) => string): Promise<undefined> {
  const done = (await withApi(context, (api) => api.ask({ method: "POST", path: "/api/carry-over", body }))) as {
    carried: number;
  };
  return printResult(context, done, text(done.carried));
}

function textOf({ warning, items, total }: Plan, width: number | undefined): string {
  if (warning === null) return "No conversation is left behind.";
  const now = Date.now();
  const rows = items.map(({ agentName, from, lastHumanAt, stays }) => [
    ...[oneLine(agentName ?? from, 80), relativeTime(lastHumanAt ?? null, now)],
    stays === undefined ? "can be carried over" : WHY[stays],
  ]);
  const table = fitTable(["conversation", "last message", ""], rows, { width });
  const more = total > items.length ? `\n… and ${total - items.length} more` : "";
  return `${warning}\n\n${table}${more}\n\nRun it with --yes to carry them over, or with --leave to leave them.`;
}

async function agrees({ stdin, stdout }: CommandContext, offered: number): Promise<boolean> {
  if (!stdin().isTTY || !stdout.isTTY) return false;
  return askYesNo(`Carry ${offered} over?`);
}
