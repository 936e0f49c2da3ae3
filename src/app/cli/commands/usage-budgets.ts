/** `rookery usage budgets`: shows what each budget has spent, and allows more. */

import { type Limit, type Limits, limitsOf, type Spend } from "../../../core/budget/budget.ts";
import { costText } from "../../../core/cost-text.ts";
import type { BudgetView } from "../../client/spending-resources.ts";
import { reading, withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { numberFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";

const list = defineAction({
  summary: "list what each budget has spent, and the total since midnight",
  async run(context) {
    const { config } = await context.loadConfig();
    const { hostZone, startOfDay } = await import("../../../core/zoned-time.ts");
    const { systemClock } = await import("../../../adapters/system/system-clock.ts");
    const limits = limitsOf(config.budgets);
    const since = startOfDay(systemClock.now(), config.session.timeZone ?? hostZone());
    const [budgets, { tokens, dollars, by }] = await reading(context, (rookery) =>
      Promise.all([rookery.budgets.list(), rookery.usage(since)]),
    );
    const today = { tokens, dollars, by };
    const more = { limits, today };
    return printList(context, {
      items: budgets.items,
      more,
      line,
      empty: "",
      before: limitLines(limits),
      after: [todayLine(today)],
    });
  },
});

const lift = defineAction({
  summary: "allow the same amount again, or the amount you name",
  usage: "<key> [--tokens N] [--dollars N] [--messages N]",
  arguments: { min: 1, max: 1 },
  options: {
    tokens: { type: "string", value: "N", description: "how many more tokens" },
    dollars: { type: "string", value: "N", description: "how many more dollars" },
    messages: { type: "string", value: "N", description: "how many more messages" },
  },
  async run(context) {
    const { args, flags } = context;
    const body = {
      tokens: numberFlag(flags.tokens, "--tokens"),
      dollars: numberFlag(flags.dollars, "--dollars", { min: 0.000_001, fraction: true }),
      messages: numberFlag(flags.messages, "--messages"),
    };
    const path = `/api/budgets/${encodeURIComponent(args[0] ?? "")}/lift`;
    const lifted = (await withApi(context, (api) => api.ask({ method: "POST", path, body }))) as BudgetView;
    return printResult(context, lifted, line(lifted));
  },
});

export const budgetActions = { budgets: list, lift };

function limitLines(limits: Limits): readonly string[] {
  const lines = Object.entries(limits).map(([scope, limit]) => `limit per ${scope}: ${amounts(limit)}`);
  return lines.length > 0 ? lines : ["Nothing is limited. Set limits with `budgets` in the configuration."];
}

function line(budget: BudgetView): string {
  // A row that counts messages does so as tokens.
  return budget.scope === "messages" ? countLine(budget) : spendLine(budget);
}

function countLine({ name, spent, allowed, lifted }: BudgetView): string {
  const of = allowed?.tokens === undefined ? "" : ` of ${allowed.tokens}`;
  return `${oneLine(name, 100)}  ${spent.tokens}${of} messages${lifted.tokens > 0 ? `, lifted by ${lifted.tokens}` : ""}`;
}

function spendLine({ name, spent, reserved, estimated, allowed, lifted }: BudgetView): string {
  const parts = [
    `${oneLine(name, 100)}  ${allowed ? ofAllowed(spent, allowed) : used(spent)}`,
    ...(some(reserved) ? [`${used(reserved)} reserved by active calls`] : []),
    ...(some(estimated) ? [`${used(estimated)} of it estimated`] : []),
    ...(some(lifted) ? [`lifted by ${amounts(lifted)}`] : []),
  ];
  return parts.join(", ");
}

const todayLine = ({ tokens, dollars }: { readonly tokens: number; readonly dollars: number }): string =>
  `Since midnight: ${tokens} tokens, ${costText(dollars, tokens)}, by runs that started today.`;

const some = ({ tokens, micros }: Spend): boolean => tokens > 0 || micros > 0;

const money = (micros: number): string => `$${(micros / 1_000_000).toFixed(4)}`;

const amounts = ({ tokens, micros, messages }: Limit): string =>
  [
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ...(micros === undefined ? [] : [money(micros)]),
    ...(messages === undefined ? [] : [`${messages} messages a day`]),
  ].join(", ");

/** Tokens without a price cost an unknown amount. */
const used = ({ tokens, micros }: Spend): string => `${tokens} tokens, ${costText(micros / 1_000_000, tokens)}`;

const ofAllowed = (spent: Spend, { tokens, micros }: Limit): string =>
  [
    ...(tokens === undefined ? [] : [`${spent.tokens} of ${tokens} tokens`]),
    ...(micros === undefined ? [] : [`${costText(spent.micros / 1_000_000, spent.tokens)} of ${money(micros)}`]),
  ].join(", ");
