/**
 * `rookery people tokens`: manages the tokens of the gateway, in the file of a home or in the store that nodes share. Changes go through
 * the API, which writes them to the audit log; a running gateway applies them at once.
 */
import { createHome } from "../../../config/create-home.ts";
import { UsageError } from "../../../core/errors.ts";
import { holds, SCOPES, type Scope } from "../../../core/rights/scope.ts";
import { OWNER } from "../../gateway/auth/principal.ts";
import type { ShownToken } from "../../gateway/auth/token-service.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { numberFlag } from "../number-flag.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { withTokens } from "../with-tokens.ts";

const list = defineAction({
  summary: "list tokens and their scopes, without the secrets",
  async run(context) {
    const tokens = await withTokens(context.paths, (service) => service.list(OWNER));
    const empty = "The home has only its own token. Run `rookery people tokens add <name>` to make another.";
    return printList(context, { items: tokens, line, empty });
  },
});

const add = defineAction({
  summary: "make a token; it is printed only once",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  options: {
    scope: {
      type: "string",
      value: "SCOPE",
      multiple: true,
      description: "read, chat, operate or admin (default: chat)",
    },
    days: { type: "string", value: "N", description: "expires after this many days" },
    person: { type: "string", value: "ID", description: "belongs to this person and sees only what is theirs" },
    app: {
      type: "string",
      value: "NAME",
      description: "belongs to this application (default: one of the token's name)",
    },
    "requests-per-minute": { type: "string", value: "N", description: "how many requests it may make" },
    "messages-per-day": { type: "string", value: "N", description: "how many messages it may send" },
    "tokens-per-day": { type: "string", value: "N", description: "how many model tokens it may use" },
    "dollars-per-day": { type: "string", value: "N", description: "how much it may spend" },
  },
  async run(context) {
    const {
      args: [name = ""],
      flags,
      paths,
    } = context;
    await createHome(paths);
    const limits = {
      requestsPerMinute: numberOf(flags["requests-per-minute"], "--requests-per-minute"),
      messagesPerDay: numberOf(flags["messages-per-day"], "--messages-per-day"),
      tokensPerDay: numberOf(flags["tokens-per-day"], "--tokens-per-day"),
      dollarsPerDay: numberOf(flags["dollars-per-day"], "--dollars-per-day"),
    };
    const body = {
      name,
      scopes: (flags.scope ?? ["chat"]).map(scopeOf),
      expiresInDays: numberOf(flags.days, "--days"),
      person: flags.person,
      app: flags.app,
      limits: Object.values(limits).some((limit) => limit !== undefined) ? limits : undefined,
    };
    const asked = withApi(context, (api) => api.ask({ method: "POST", path: "/api/tokens", body }));
    const made = (await asked) as { readonly token: string };
    return printResult(context, made, made.token);
  },
});

const remove = defineAction({
  summary: "revoke a token and all tokens it minted; their open streams end",
  usage: "<id>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const [id = ""] = context.args;
    const path = `/api/tokens/${encodeURIComponent(id)}`;
    const asked = withApi(context, (api) => api.ask({ method: "DELETE", path }));
    const { revoked } = (await asked) as { readonly revoked: readonly string[] };
    return printResult(context, { revoked }, `Revoked ${revoked.join(", ")}.`);
  },
});

export const tokensGroup: Group = {
  summary: "list, make and revoke tokens for the gateway",
  description:
    "Tokens are stored as hashes, in tokens.json of the home or in the shared store. The scopes of a token set its rights: read sees everything, chat sends messages, operate changes things, admin can do all.",
  actions: { list, add, remove },
  fallback: "list",
};

/** Who a token belongs to, as the list says it. */
function whose({ kind, person, app, scopes }: ShownToken): string {
  if (kind === "person") return `of ${person}`;
  if (kind === "application") return `of the application ${app}`;
  if (kind === "owner" || holds(scopes, "operate")) return "of the owner";
  return `old${person === undefined ? "" : ` (user ${person})`}: its users share their names with all old tokens`;
}

function scopeOf(text: string): Scope {
  const scope = SCOPES.find((known) => known === text);
  if (scope) return scope;
  throw new UsageError(`"${text}" is not a scope.`, { hint: `Scopes: ${SCOPES.join(", ")}.` });
}

const numberOf = (text: string | undefined, flag: string): number | undefined =>
  numberFlag(text, flag, { min: 0.000_001, fraction: true });

function line(token: ShownToken): string {
  const until = token.expiresAt === undefined ? "" : `  until ${timeText(token.expiresAt)}`;
  return `${token.id}  ${token.scopes.join(",").padEnd(12)}  ${oneLine(token.name, 60)}  ${whose(token)}${until}`;
}
