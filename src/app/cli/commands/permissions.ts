/** `rookery permissions`: the rules of the gate; adds and removes stored ones, tries a call, explains a denial. */

import { InvalidInputError } from "../../../core/errors.ts";
import type { AuditRow } from "../../../core/people/audit.ts";
import { VERDICTS } from "../../../core/people/grant.ts";
import type { ApiRequest } from "../../client/api.ts";
import type { ListedRule, TriedCall, TriedDecision } from "../../client/permissions-resource.ts";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";

const OF = {
  for: { type: "string", value: "PERSON", description: "the rules of this person; default: the owner" },
  agent: { type: "string", value: "AGENT", description: "the rules of one agent, by id, session key or name" },
} as const;

const list = defineAction({
  summary: "list the rules of the configuration, of profiles and of people",
  options: OF,
  async run(context) {
    const { for: person, agent } = context.flags;
    const { items } = (await ask(context, { method: "GET", path: `/api/permissions${query({ person, agent })}` })) as {
      items: readonly ListedRule[];
    };
    return printList(context, { items, line, empty: "There are no rules: the defaults decide." });
  },
});

const add = defineAction({
  summary: "store a rule: allow, ask or deny",
  usage: "<allow|ask|deny> <rule>",
  description: "Rules are written as exec(git push *), write(src/**), web(domain:example.org), mcp__server__tool.",
  arguments: { min: 2, max: 2 },
  options: {
    ...OF,
    because: { type: "string", value: "TEXT", description: "why; the model and people read it" },
    untrusted: { type: "boolean", description: "it counts while untrusted text is in context" },
  },
  async run(context) {
    const [verdict = "", rule] = context.args;
    const { for: person, agent, because, untrusted } = context.flags;
    if (!VERDICTS.some((one) => one === verdict)) {
      throw new InvalidInputError(`"${verdict.slice(0, 40)}" is not a verdict.`, { hint: "Use allow, ask or deny." });
    }
    const body = { verdict, rule, because, person, agent, when: untrusted ? "untrusted" : undefined };
    const stored = (await ask(context, { method: "POST", path: "/api/permissions", body })) as ListedRule;
    return print(context, stored, [line(stored)]);
  },
});

const remove = defineAction({
  summary: "remove a stored rule",
  usage: "<rule>",
  arguments: { min: 1, max: 1 },
  options: OF,
  async run(context) {
    const [rule = ""] = context.args;
    const { for: person, agent } = context.flags;
    await ask(context, { method: "DELETE", path: `/api/permissions${query({ rule, person, agent })}` });
    return print(context, { removed: rule }, [`${oneLine(rule, 200)} is removed.`]);
  },
});

const test = defineAction({
  summary: "show what the gate decides about a call, without making it",
  usage: "<call>",
  arguments: { min: 1, max: 1 },
  options: {
    ...OF,
    headless: { type: "boolean", description: "as in a run that no person waits for" },
    untrusted: { type: "boolean", description: "as with untrusted text in context" },
  },
  async run(context) {
    const { for: person, agent, headless, untrusted } = context.flags;
    const body = { call: context.args[0], person, agent, headless, untrusted };
    const tried = (await ask(context, { method: "POST", path: "/api/permissions/test", body })) as TriedCall;
    const parts = tried.effects.length > 1 ? tried.effects.map(({ decision }) => `  ${decisionText(decision)}`) : [];
    return print(context, tried, [decisionText(tried.decision), ...parts]);
  },
});

const explain = defineAction({
  summary: "show why calls of a run, or one call, were denied",
  usage: "<run|call>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const path = `/api/permissions/explain/${encodeURIComponent(context.args[0] ?? "")}`;
    const { items } = (await ask(context, { method: "GET", path })) as { items: readonly AuditRow[] };
    return printList(context, { items, line: denialLine, empty: "Nothing was denied." });
  },
});

export const permissionsCommand: Group = {
  summary: "list, add and remove rules; try a call, explain a denial",
  description: "The strictest rule wins: deny, then ask, then allow. Without a rule the defaults decide.",
  actions: { list, add, remove, test, explain },
  fallback: "list",
};

const ask = (context: CommandContext, request: Omit<ApiRequest, "key" | "headers">): Promise<unknown> =>
  withApi(context, (api) => api.ask(request));

const print = (context: CommandContext, value: unknown, lines: readonly string[]): undefined =>
  printResult(context, value, lines.join("\n"));

const denialLine = ({ at, action, decision, reason = "", person }: AuditRow): string =>
  oneLine(`${timeText(at)}  ${decision} ${action} for ${person}: ${reason}`, 600);

function query(fields: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

function line({ verdict, text, source, because, shows, when }: Omit<ListedRule, "stored">): string {
  const more = [shows && oneLine(shows, 700), because && oneLine(because, 120), when && "with untrusted text"]
    .filter(Boolean)
    .join("; ");
  return `${verdict.padEnd(5)}  ${oneLine(text, 200)}  (${oneLine(source, 80)})${more === "" ? "" : `  ${more}`}`;
}

const decisionText = ({ verdict, reason, rule }: TriedDecision): string =>
  reason === ""
    ? `${verdict}${rule ? `: the rule ${rule.verdict} ${oneLine(rule.text, 200)} (${rule.source})` : ": by default"}`
    : `${verdict}: ${oneLine(reason, 400)}`;
