/** Lists what the rows of a database start or allow: gates of jobs, where agents run commands, and rules that let commands run unasked. */
import type { DatabaseSync } from "node:sqlite";
import { openDatabaseSync } from "../../../adapters/store/sqlite/database-sync.ts";
import { OWNERS_FIELDS, widensRights } from "../../../core/agent/exec-fields.ts";
import { matchesEnding } from "../../../core/people/grant.ts";
import { parseRule } from "../../../core/rights/rule.ts";
import type { Gate } from "../../../core/schedule/job.ts";
import { visibleLine } from "../../../core/visible-text.ts";

/** Each line is a sentence without its end, in one line and without hidden characters. */
export function storedPrograms(file: string): readonly string[] {
  const sql = openDatabaseSync(file, { readOnly: true });
  try {
    return [
      ...rowsOf(sql, "jobs", "job").flatMap(({ name, gate }) => gateLine(`the job ${quoted(name)}`, gate as Gate)),
      ...rowsOf(sql, "people", "record").flatMap(({ id, grants }) =>
        ruleLines(`the rules of ${quoted(id)}`, allowancesOf(grants)),
      ),
      ...rowsOf(sql, "agents", "state", "id").flatMap((state) => {
        const agent = `the agent ${quoted(state.id)}`;
        return [...execLine(agent, state), ...ruleLines(agent, allowancesOf(state.rules))];
      }),
      ...rowsOf(sql, "agents", "descriptor", "id").flatMap(({ id, workspaceDir }) =>
        typeof workspaceDir === "string"
          ? [`the agent ${quoted(id)} works in the directory ${quoted(workspaceDir)}`]
          : [],
      ),
    ];
  } finally {
    sql.close();
  }
}

type Row = Readonly<Record<string, unknown>>;

/** The JSON of a column; a row that cannot be read starts nothing. An older schema may have no such table. */
function rowsOf(sql: DatabaseSync, table: string, column: string, id?: string): readonly Row[] {
  if (!sql.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table)) return [];
  const rows = sql.prepare(`SELECT ${[column, ...(id === undefined ? [] : [id])].join(", ")} FROM ${table}`).all();
  return rows.flatMap((row) => {
    const record = parsed(row[column]);
    return record ? [id === undefined ? record : { ...record, id: row[id] }] : [];
  });
}

function parsed(text: unknown): Row | undefined {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null ? (value as Row) : undefined;
  } catch {
    return undefined;
  }
}

const allowancesOf = (grants: unknown): readonly string[] =>
  Array.isArray(grants)
    ? grants.flatMap(({ allow }: { allow?: unknown }) => (typeof allow === "string" ? [allow] : []))
    : [];

export function gateLine(who: string, gate: Gate | undefined): readonly string[] {
  return gate?.kind === "command" ? [`${who} starts ${quoted(gate.command)} outside the sandbox`] : [];
}

/** `rules`: those that allow something. */
export const ruleLines = (who: string, rules: readonly string[]): readonly string[] =>
  rules.filter(allowsCommands).map((rule) => `${who} let commands run without a question: ${quoted(rule)}`);

function allowsCommands(rule: string): boolean {
  const read = parseRule(rule);
  return "subject" in read && read.subject.actions.some((action) => matchesEnding(action, "exec"));
}

/** `fields`: as agents have them. */
export function execLine(who: string, fields: Readonly<Record<string, unknown>>): readonly string[] {
  const wide = OWNERS_FIELDS.filter((name) => widensRights(name, fields[name]));
  if (wide.length === 0) return [];
  return [
    `${who} has wider rights than by default: ${wide.map((name) => `${name} ${quoted(fields[name])}`).join(", ")}`,
  ];
}

/** As a person can check it. */
export const quoted = (value: unknown): string => visibleLine(JSON.stringify(value) ?? "");
