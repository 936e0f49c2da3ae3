/** `rookery agents`: lists agents, shows one in detail, makes permanent ones, and posts changes. */

import { shortId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import type { AgentDetails, AgentSummary } from "../../client/resources.ts";
import { backAction, setAction } from "../ask-agent.ts";
import { reading } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { fitTable, terminalWidth } from "../fit-table.ts";
import { limitFlag } from "../number-flag.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { relativeTime } from "../relative-time.ts";
import { upTo } from "../up-to.ts";
import { addAgentAction } from "./agents-add.ts";
import { inboxAction } from "./agents-inbox.ts";
import { removeAction, resetAction, startAction, stopAction } from "./agents-stops.ts";
import { subagentsGroup } from "./agents-subagents.ts";
import { swarmsGroup } from "./agents-swarms.ts";
import { treeAction } from "./agents-tree.ts";

const LIMIT = 100;
const MAX = 10_000;

const list = defineAction({
  summary: "list agents in the order they were created",
  options: {
    limit: { type: "string", value: "N", description: `how many at most (default: ${LIMIT})` },
    after: { type: "string", value: "AGENT", kind: "agent", description: "start after this agent" },
  },
  async run(context) {
    const { flags } = context;
    const limit = limitFlag(flags.limit, LIMIT, MAX);
    const first = flags.after || undefined;
    const { items: agents } = await reading(context, (rookery) =>
      upTo(limit + 1, first, (count, after) => rookery.agents.list({ limit: count, after })),
    );
    const shown = agents.slice(0, limit);
    const isMore = agents.length > limit;
    const next = isMore ? (shown.at(-1)?.id ?? null) : null;
    const items = shown.map(summaryOf);
    const more = next !== null ? context.here(`\nTo see more, run \`rookery agents --after ${shortId(next)}\``) : "";
    return printResult(
      context,
      listOf(items, next),
      items.length === 0 ? "No agents." : `${tableOf(items, terminalWidth(context.stdout))}${more}`,
    );
  },
});

const show = defineAction({
  summary: "show one agent in detail",
  usage: "<agent id, key or name>",
  arguments: { min: 1, max: 1 },
  options: { prompt: { type: "boolean", description: "the parts of its last system prompt, with tokens" } },
  async run(context) {
    const [who = ""] = context.args;
    if (context.flags.prompt) return showPrompt(context, who);
    const agent = await reading(context, (rookery) => rookery.agents.get(who));
    return printResult(context, agent, details(agent));
  },
});

/** What entered its last turn: a line for each part, with what did not fit. */
async function showPrompt(context: CommandContext, who: string): Promise<undefined> {
  const { turn } = await reading(context, (rookery) => rookery.agents.memory(who));
  const parts = turn?.parts ?? [];
  const lines = parts.map(({ part, source, tokens, missing }) => {
    const cut = missing === undefined ? "" : `, ${missing} characters do not fit`;
    return `${String(tokens).padStart(7)}  ${oneLine(part, 40)} (${oneLine(source, 80)}${cut})`;
  });
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  const looked = (turn?.lookups ?? []).map(
    ({ tool, characters }) => `looked up with ${oneLine(tool, 40)}: ${characters} characters`,
  );
  const text =
    parts.length === 0
      ? "This agent has not been prompted yet."
      : [...lines, `${String(total).padStart(7)}  in all, estimated`, ...looked].join("\n");
  const items = parts.map(({ part: name, ...rest }) => ({ name, ...rest }));
  return printResult(context, { ...listOf(items), tokens: total, lookups: turn?.lookups ?? [] }, text);
}

export interface Summary {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly sessionKey: string;
  readonly waiting: number;
  readonly running: boolean;
  readonly lastActivityAt: number;
}

function summaryOf(agent: AgentSummary): Summary {
  const { id, name, kind, sessionKey, waiting, runId, updatedAt, lastHumanAt, createdAt } = agent;
  const lastActivityAt = Math.max(updatedAt, lastHumanAt ?? 0, createdAt);
  return { id, name, kind, sessionKey, waiting, running: runId !== null, lastActivityAt };
}

function tableOf(rows: readonly Summary[], width: number | undefined): string {
  const now = Date.now();
  const cells = rows.map(({ name, kind, waiting, running, lastActivityAt }) => [
    ...[oneLine(name, 80), kindName(kind), `${waiting}${running ? " +run" : ""}`, relativeTime(lastActivityAt, now)],
  ]);
  return fitTable(["name", "kind", "waiting", "last activity"], cells, { width });
}

/** The kinds in plain words. */
const KINDS: Readonly<Record<string, string>> = { user: "conversation", cron: "schedule", subagent: "task" };
const kindName = (kind: string): string => KINDS[kind] ?? kind;

function details(agent: AgentDetails): string {
  const { id, name, sessionKey, profile, descriptor, state, sessionId, phase, waiting, runId, stopped } = agent;
  const { tokens, stats, version: _, createdAt: __, updatedAt, ...more } = state;
  const rows: readonly (readonly [string, string])[] = [
    ["name", name],
    ["id", id],
    ["session key", sessionKey],
    ["profile", profile],
    ["kind", descriptor.type],
    ["descriptor", JSON.stringify(descriptor)],
    ["session", `${sessionId} (${phase})`],
    ["entries", String(agent.nextPos)],
    ["messages", `${agent.nextSeq - 1} accepted, ${waiting} waiting`],
    ["run", runId ?? "none"],
    ["created", timeText(agent.createdAt)],
    ["last changed", timeText(updatedAt)],
    ["last human message", timeText(agent.lastHumanAt ?? undefined)],
    ...(stopped ? [["stopped", `${timeText(stopped.at)}: ${stopped.reason}`] as const] : []),
    ...(tokens ? [["last call", `${tokens.provider}/${tokens.model}, ${tokens.size.total} tokens`] as const] : []),
    ...Object.entries(stats).flatMap(([provider, models]) =>
      Object.entries(models).map(([model, { total }]) => ["spent", `${provider}/${model}: ${total} tokens`] as const),
    ),
    ...Object.entries(more)
      .filter(([, value]) => value !== null)
      .map(([field, value]) => [field, typeof value === "string" ? value : JSON.stringify(value)] as const),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${oneLine(value, 400)}`).join("\n");
}

export const agentsCommand: Group = {
  summary: "list agents; show, add, set, stop, reset or remove one; see its tree, inbox and subagents",
  description:
    "A running engine applies a change at once. Without one the change waits for the next `rookery serve` or `rookery send`.",
  actions: {
    list,
    show,
    add: addAgentAction,
    set: setAction,
    back: backAction,
    stop: stopAction,
    start: startAction,
    reset: resetAction,
    remove: removeAction,
    tree: treeAction,
    inbox: inboxAction,
    subagents: subagentsGroup,
    swarms: swarmsGroup,
  },
  fallback: "list",
};
