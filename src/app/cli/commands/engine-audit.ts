/** `rookery engine audit`: who did what, for which person, and what was decided. */

import { UsageError } from "../../../core/errors.ts";
import { withShortIds } from "../../../core/ids.ts";
import type { AuditRow } from "../../../core/people/audit.ts";
import { VERDICTS } from "../../../core/people/grant.ts";
import { printableJson } from "../../../core/printable.ts";
import { type Api, withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printList } from "../print.ts";
import { relativeTime } from "../relative-time.ts";
import { sinceFlag } from "../since-flag.ts";

interface Page {
  readonly items: readonly NamedRow[];
  readonly next: number | null;
}

const MAX_LIMIT = 1_000_000;
const PAGE = 1_000;

export const showAudit = defineAction({
  summary: "show the audit log: who did what, for which person, and what was decided",
  description:
    "Newest rows first. `--export` prints all rows that match as JSON lines. retention.auditDays says how long rows stay.",
  options: {
    person: { type: "string", value: "ID", description: "only what was done for this person" },
    agent: {
      type: "string",
      value: "AGENT",
      kind: "agent",
      description: "only what this agent did, by id, session key or name",
    },
    action: { type: "string", value: "NAME", description: "only this tool or action" },
    decision: { type: "string", value: "DECISION", description: "allow, ask or deny" },
    since: { type: "string", value: "TIME", description: "not older than 30m, 2h, 7d or a date" },
    before: { type: "string", value: "N", description: "only rows before this number" },
    limit: { type: "string", value: "N", description: "how many rows at most (default: 50)" },
    export: { type: "boolean", description: "print JSON lines, all rows unless --limit says otherwise" },
  },
  async run(context) {
    const { flags, stdout } = context;
    const { person, agent, action, decision } = flags;
    const limit = limitFlag(flags.limit, flags.export ? MAX_LIMIT : 50, MAX_LIMIT);
    if (decision !== undefined && !VERDICTS.some((one) => one === decision)) {
      throw new UsageError(`"${decision}" is not a decision.`, { hint: `Decisions: ${VERDICTS.join(", ")}.` });
    }
    const before = numberFlag(flags.before, "--before");
    const since = sinceFlag(flags.since, Date.now());
    const filter = new URLSearchParams();
    for (const [name, value] of Object.entries({ person, agent, action, decision, since, before })) {
      if (value !== undefined) filter.set(name, String(value));
    }
    const rows: NamedRow[] = [];
    await withApi(
      context,
      async (api) => {
        for await (const row of rowsOf(api, filter, limit)) {
          if (flags.export) stdout.write(`${printableJson(JSON.stringify(row))}\n`);
          else rows.push(row);
        }
      },
      { reads: true },
    );
    if (flags.export) return undefined;
    const next = rows.length < limit ? null : (rows.at(-1)?.n ?? null);
    return printList(context, { items: rows, next, line, empty: "No rows." });
  },
});

async function* rowsOf(api: Api, filter: URLSearchParams, limit: number): AsyncIterable<NamedRow> {
  let left = limit;
  for (let before: number | null | undefined; left > 0 && before !== null; ) {
    const query = new URLSearchParams(filter);
    query.set("limit", String(Math.min(left, PAGE)));
    if (before !== undefined) query.set("before", String(before));
    const page = (await api.ask({ method: "GET", path: `/api/audit?${query}` })) as Page;
    yield* page.items;
    left -= page.items.length;
    before = page.next;
  }
}

export interface NamedRow extends AuditRow {
  readonly agentName?: string;
  readonly personName?: string;
}

function line({ at, personName, person, surface, action, target, decision, reason, outcome, ...by }: NamedRow): string {
  const parts = [
    relativeTime(at, Date.now()).padEnd(12),
    decision.padEnd(5),
    oneLine(personName ?? person, 60).padEnd(12),
    oneLine(target === undefined ? action : `${action} ${withShortIds(target)}`, 120),
    `on ${oneLine(surface, 40)}`,
    ...(by.agentId ? [`by ${oneLine(by.agentName ?? "an agent that is gone", 60)}`] : []),
    ...(outcome && outcome !== "ok" ? [outcome] : []),
    ...(reason ? [`(${oneLine(reason, 120)})`] : []),
  ];
  return parts.join("  ");
}
