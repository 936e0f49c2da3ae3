/** `rookery usage`: tokens and cost by day, agent, person and model, with a small chart. */

import { costText } from "../../../core/cost-text.ts";
import { UsageError } from "../../../core/errors.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { fitTable, terminalWidth } from "../fit-table.ts";
import { numberFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { budgetActions } from "./usage-budgets.ts";

interface Spent {
  readonly tokens: number;
  readonly dollars: number;
}

interface Day extends Spent {
  readonly day: string;
  readonly by: readonly {
    readonly agentId: string;
    readonly person?: string;
    readonly runs: number;
    readonly tokens: number;
    readonly cost: number;
  }[];
}

interface Usage {
  readonly items: readonly Day[];
  readonly agents: Readonly<Record<string, { readonly name: string; readonly sessionKey: string }>>;
  readonly people: Readonly<Record<string, string>>;
  readonly models: readonly { readonly model: string; readonly tokens: number }[];
}

const WAYS = ["day", "agent", "person", "model"] as const;
const BAR = 30;

const show = defineAction({
  summary: "show tokens and cost by day, agent, person or model",
  description: "Counts runs by the day they began. By model it counts the tokens of these agents over all time.",
  options: {
    by: { type: "string", value: "WAY", description: `one of ${WAYS.join(", ")} (default: day)` },
    days: { type: "string", value: "N", description: "how many days, up to 92 (default: 14)" },
  },
  examples: ["rookery usage", "rookery usage --by agent --days 30"],
  async run(context) {
    const { flags, stdout } = context;
    const by = WAYS.find((way) => way === (flags.by ?? "day"));
    if (!by) throw new UsageError(`--by takes one of ${WAYS.join(", ")}.`);
    const days = numberFlag(flags.days ?? "14", "--days", { max: 92 });
    const path = `/api/usage/days?days=${days}`;
    const usage = (await withApi(context, (api) => api.ask({ method: "GET", path }), { reads: true })) as Usage;
    const rows = rowsOf(usage, by);
    const total = usage.items.reduce(
      (sum, { tokens, dollars }) => ({ tokens: sum.tokens + tokens, dollars: sum.dollars + dollars }),
      { tokens: 0, dollars: 0 },
    );
    const most = Math.max(1, ...rows.map(({ tokens }) => tokens));
    const cells = rows.map(({ name, tokens, dollars }) => [
      ...[
        oneLine(name, 80),
        String(tokens),
        dollars === undefined ? "" : costText(dollars, tokens),
        bar(tokens / most),
      ],
    ]);
    const table = fitTable([by, "tokens", "cost", ""], cells, { width: terminalWidth(stdout) });
    const sum = `Total of ${days} days: ${total.tokens} tokens, ${costText(total.dollars, total.tokens)}.`;
    const text = rows.length === 0 ? "Nothing was spent." : `${table}\n${sum}`;
    return printResult(context, { by, days, items: rows, next: null, total }, text);
  },
});

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

function bar(share: number): string {
  const eighths = Math.round(share * BAR * 8);
  return `${"█".repeat(Math.floor(eighths / 8))}${EIGHTHS[eighths % 8]}`;
}

export interface Row {
  readonly name: string;
  readonly tokens: number;
  readonly dollars?: number;
}

function rowsOf({ items, agents, people, models }: Usage, by: (typeof WAYS)[number]): readonly Row[] {
  if (by === "day") return items.map(({ day, tokens, dollars }) => ({ name: day, tokens, dollars }));
  if (by === "model") return models.map(({ model, tokens }) => ({ name: model, tokens }));
  const sums = new Map<string, { tokens: number; dollars: number }>();
  for (const { agentId, person, tokens, cost } of items.flatMap((day) => day.by)) {
    const name =
      by === "agent" ? (agents[agentId]?.name ?? "gone") : person === undefined ? "no one" : (people[person] ?? person);
    const sum = sums.get(name) ?? { tokens: 0, dollars: 0 };
    sums.set(name, { tokens: sum.tokens + tokens, dollars: sum.dollars + cost });
  }
  return [...sums].map(([name, spent]) => ({ name, ...spent })).sort((a, b) => b.tokens - a.tokens);
}

export const usageCommand: Group = {
  summary: "show tokens and cost by day, agent, person or model; see budgets, and allow more",
  description: "When a budget is used up, runs fail until you lift it, raise it in the configuration, or its day ends.",
  actions: { show, ...budgetActions },
  fallback: "show",
};
