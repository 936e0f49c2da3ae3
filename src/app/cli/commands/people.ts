/** `rookery people`: the people an installation knows, their accounts, grants and limits. */
import { UsageError } from "../../../core/errors.ts";
import { type Grant, verdictOf } from "../../../core/people/grant.ts";
import type { PersonLimits, PersonRecord } from "../../../core/people/person-record.ts";
import type { ApiRequest } from "../../client/api.ts";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { numberFlag } from "../number-flag.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { filesGroup } from "./people-files.ts";
import { forget } from "./people-forget.ts";
import { invite, sessions, signOut } from "./people-logins.ts";
import { requestsGroup } from "./people-requests.ts";
import { tokensGroup } from "./people-tokens.ts";

const pathOf = (id: string, below = ""): string => `/api/people/${encodeURIComponent(id)}${below}`;

const READS = { reads: true } as const;

interface Page {
  readonly items: readonly PersonRecord[];
  readonly next: string | null;
}

const list = defineAction({
  summary: "list people, their roles and accounts",
  async run(context) {
    const people = await withApi(
      context,
      async (api) => {
        const all: PersonRecord[] = [];
        for (let after = ""; ; ) {
          const query = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
          const page = (await api.ask({ method: "GET", path: `/api/people?limit=500${query}` })) as Page;
          all.push(...page.items);
          if (page.next === null) return all;
          after = page.next;
        }
      },
      READS,
    );
    const empty = "No one is known but the owner. Run `rookery people add <id>` to let someone in.";
    return printList(context, { items: people, line, empty });
  },
});

const show = defineAction({
  summary: "show one person",
  usage: "<person id>",
  arguments: { min: 1, max: 1 },
  run: (context) => shown(context, { method: "GET", path: pathOf(context.args[0] ?? "") }),
});

const PROFILE = {
  name: { type: "string", value: "NAME", description: "how to call the person" },
  role: { type: "string", value: "ROLE", description: "guest or contact" },
  tz: { type: "string", value: "ZONE", description: "the person's time zone, such as Europe/Berlin" },
  language: { type: "string", value: "LANGUAGE", description: "the person's language, such as de" },
} as const;

const add = defineAction({
  summary: "add a person",
  usage: "<person id>",
  arguments: { min: 1, max: 1 },
  options: {
    ...PROFILE,
    account: { type: "string", value: "ACCOUNT", multiple: true, description: "an account, such as telegram:42" },
  },
  run(context) {
    const { name, role, tz: timeZone, language, account: accounts } = context.flags;
    const body = { id: context.args[0], name, role, timeZone, language, accounts };
    return shown(context, { method: "POST", path: "/api/people", body });
  },
});

const set = defineAction({
  summary: "change a person's name, role, time zone or language; an empty value removes it",
  usage: "<person id>",
  arguments: { min: 1, max: 1 },
  options: PROFILE,
  run(context) {
    const { name, role, tz, language } = context.flags;
    if ([name, role, tz, language].every((value) => value === undefined)) {
      throw new UsageError("Nothing is to be changed.", {
        hint: "Use --name, --role, --tz or --language.",
      });
    }
    const body = { name: cleared(name), role, timeZone: cleared(tz), language: cleared(language) };
    return shown(context, { method: "PATCH", path: pathOf(context.args[0] ?? ""), body });
  },
});

const cleared = (text: string | undefined): string | null | undefined => (text === "" ? null : text);

const link = defineAction({
  summary: "link an account on a channel to a person",
  usage: "<person id> <account>",
  arguments: { min: 2, max: 2 },
  run(context) {
    const [id = "", account] = context.args;
    return shown(context, { method: "POST", path: pathOf(id, "/accounts"), body: { account } });
  },
});

const unlink = defineAction({
  summary: "unlink an account from a person",
  usage: "<person id> <account>",
  arguments: { min: 2, max: 2 },
  run(context) {
    const [id = "", account = ""] = context.args;
    return shown(context, { method: "DELETE", path: pathOf(id, `/accounts?account=${encodeURIComponent(account)}`) });
  },
});

const grant = defineAction({
  summary: "allow something to a person, ask before it, or deny it",
  usage: "<person id> <what>",
  description: "Name a tool or another action, a beginning with *, or a target: cron_add, cron_*, send(telegram:42).",
  arguments: { min: 2, max: 2 },
  options: {
    ask: { type: "boolean", description: "ask before each use" },
    deny: { type: "boolean", description: "deny it" },
    note: { type: "string", value: "TEXT", description: "why" },
  },
  run(context) {
    const [id = "", subject] = context.args;
    const { ask, deny, note } = context.flags;
    if (ask && deny) throw new UsageError("A grant has one verdict.", { hint: "Use --ask or --deny." });
    const verdict = deny ? "deny" : ask ? "ask" : "allow";
    return shown(context, { method: "POST", path: pathOf(id, "/grants"), body: { subject, verdict, note } });
  },
});

const revoke = defineAction({
  summary: "take a grant away; what the role allows stays",
  usage: "<person id> <what>",
  arguments: { min: 2, max: 2 },
  run(context) {
    const [id = "", subject = ""] = context.args;
    return shown(context, { method: "DELETE", path: pathOf(id, `/grants?subject=${encodeURIComponent(subject)}`) });
  },
});

const limits = defineAction({
  summary: "limit what a person may use in a day; without flags nothing is limited",
  usage: "<person id>",
  arguments: { min: 1, max: 1 },
  options: {
    messages: { type: "string", value: "N", description: "messages per day" },
    tokens: { type: "string", value: "N", description: "model tokens per day" },
    dollars: { type: "string", value: "N", description: "dollars per day" },
    quiet: { type: "string", value: "HOURS", description: "when nothing unasked is sent, such as 22:00-07:00" },
  },
  run(context) {
    const { messages, tokens, dollars, quiet } = context.flags;
    const given = {
      messagesPerDay: numberFlag(messages, "--messages", { min: 0 }),
      tokensPerDay: numberFlag(tokens, "--tokens", { min: 0 }),
      dollarsPerDay: numberFlag(dollars, "--dollars", { min: 0, fraction: true }),
      quietHours: quiet,
    };
    const isEmpty = Object.values(given).every((value) => value === undefined);
    const body = { limits: isEmpty ? null : given };
    return shown(context, { method: "PATCH", path: pathOf(context.args[0] ?? ""), body });
  },
});

const remove = defineAction({
  summary: "remove a person; what they started has no rights from then on",
  usage: "<person id>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const [id = ""] = context.args;
    await withApi(context, (api) => api.ask({ method: "DELETE", path: pathOf(id) }));
    return printResult(context, { removed: id }, `${id} is removed.`);
  },
});

export const peopleCommand: Group = {
  summary: "list, add, invite and remove people; their rights, limits, requests, tokens and files",
  description: "A person without a record has no rights. A guest may talk to agents; grants allow more, or less.",
  actions: {
    ...{ list, show, add, set, link, unlink, grant, revoke, limits, remove, invite, sessions, "sign-out": signOut },
    ...{ forget, requests: requestsGroup, tokens: tokensGroup, files: filesGroup },
  },
  fallback: "list",
};

async function shown(context: CommandContext, request: Omit<ApiRequest, "key" | "headers">): Promise<undefined> {
  const reads = request.method === "GET";
  const person = (await withApi(context, (api) => api.ask(request), { reads })) as PersonRecord;
  return printResult(context, person, details(person));
}

const grantText = (one: Grant): string => {
  const { verdict, subject } = verdictOf(one);
  return `${verdict} ${oneLine(subject, 200)}${one.note ? ` (${oneLine(one.note, 80)})` : ""}`;
};

const line = ({ id, name, role, accounts, grants }: PersonRecord): string =>
  [
    `${id.padEnd(16)}  ${role.padEnd(7)}`,
    ...(name ? [oneLine(name, 60)] : []),
    ...accounts.map((one) => oneLine(one, 80)),
    ...(grants.length > 0 ? [`${grants.length} ${grants.length === 1 ? "grant" : "grants"}`] : []),
  ].join("  ");

function details({ id, name, role, accounts, grants, createdAt, createdBy, ...rest }: PersonRecord): string {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["id", id],
    ["name", name && oneLine(name, 200)],
    ["role", role],
    ...accounts.map((one, n) => [n === 0 ? "accounts" : "", oneLine(one, 200)] as const),
    ...grants.map((one, n) => [n === 0 ? "grants" : "", grantText(one)] as const),
    ["limits", rest.limits && limitText(rest.limits)],
    ["zone", rest.timeZone],
    ["language", rest.language],
    ["added", `${timeText(createdAt)} by ${createdBy}`],
  ];
  return rows.flatMap(([key, value]) => (value === undefined ? [] : [`${key.padEnd(10)}${value}`])).join("\n");
}

const limitText = ({ messagesPerDay, tokensPerDay, dollarsPerDay, quietHours }: PersonLimits): string =>
  [
    ...(messagesPerDay === undefined ? [] : [`${messagesPerDay} messages per day`]),
    ...(tokensPerDay === undefined ? [] : [`${tokensPerDay} tokens per day`]),
    ...(dollarsPerDay === undefined ? [] : [`$${dollarsPerDay} per day`]),
    ...(quietHours === undefined ? [] : [`nothing unasked ${quietHours}`]),
  ].join(", ");
