/** `rookery audit`: who did what, for which person, and what was decided. */
import { InvalidInputError } from "../../../core/errors.ts";
import type { AuditRow } from "../../../core/people/audit.ts";
import { VERDICTS } from "../../../core/people/grant.ts";
import { type Api, withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { oneLine, timeText, wholeNumberFlag } from "../plain-text.ts";
import { sinceFlag } from "../since-flag.ts";

interface Page {
  readonly items: readonly AuditRow[];
  readonly next: number | null;
}

const MAX_LIMIT = 1_000_000;
const PAGE = 1_000;

export const auditCommand = defineAction({
  summary: "show the audit log: who did what, for which person, and what was decided",
  description:
    "Newest rows first. `--export` prints all rows that match as JSON lines. retention.auditDays says how long rows stay.",
  options: {
    person: { type: "string", value: "ID", description: "only what was done for this person" },
    agent: { type: "string", value: "ID", description: "only what this agent did, by its id" },
    action: { type: "string", value: "NAME", description: "only this tool or action" },
    decision: { type: "string", value: "DECISION", description: "allow, ask or deny" },
    since: { type: "string", value: "TIME", description: "not older than 30m, 2h, 7d or a date" },
    limit: { type: "string", value: "N", description: "how many rows at most (default: 50)" },
    export: { type: "boolean", description: "print JSON lines, all rows unless --limit says otherwise" },
  },
  async run(context) {
    const { flags, json, stdout } = context;
    const { person, agent, action, decision } = flags;
    const limit = wholeNumberFlag(flags.limit, flags.export ? MAX_LIMIT : 50, MAX_LIMIT);
    if (limit === undefined) throw new InvalidInputError(`--limit takes a whole number from 1 to ${MAX_LIMIT}.`);
    if (decision !== undefined && !VERDICTS.some((one) => one === decision)) {
      throw new InvalidInputError(`"${decision}" is not a decision.`, { hint: `Decisions: ${VERDICTS.join(", ")}.` });
    }
    const since = sinceFlag(flags.since, Date.now());
    const filter = new URLSearchParams();
    for (const [name, value] of Object.entries({ person, agent, action, decision, since })) {
      if (value !== undefined) filter.set(name, String(value));
    }
    const rows: AuditRow[] = [];
    await withApi(context, async (api) => {
      for await (const row of rowsOf(api, filter, limit)) {
        if (flags.export) stdout.write(`${JSON.stringify(row)}\n`);
        else rows.push(row);
      }
    });
    if (flags.export) return undefined;
    if (json) stdout.write(`${JSON.stringify(rows)}\n`);
    else stdout.write(rows.length === 0 ? "No rows.\n" : `${rows.map(line).join("\n")}\n`);
    return undefined;
  },
});

async function* rowsOf(api: Api, filter: URLSearchParams, limit: number): AsyncIterable<AuditRow> {
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

function line({ at, person, surface, action, target, decision, reason, outcome, agentId }: AuditRow): string {
  const parts = [
    timeText(at),
    decision.padEnd(5),
    oneLine(person, 60).padEnd(12),
    oneLine(target === undefined ? action : `${action} ${target}`, 120),
    `on ${oneLine(surface, 40)}`,
    ...(agentId ? [`by ${agentId}`] : []),
    ...(outcome && outcome !== "ok" ? [outcome] : []),
    ...(reason ? [`(${oneLine(reason, 120)})`] : []),
  ];
  return parts.join("  ");
}
