/**
 * `rookery tokens`: who may come in through the gateway. Works on the home's file, or on the store that nodes share; gateways
 * that run follow it at once.
 */
import { createHome } from "../../../config/create-home.ts";
import type { HomePaths } from "../../../config/paths.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { silentLog } from "../../../core/ports/log.ts";
import { type Principal, ROOT } from "../../gateway/auth/principal.ts";
import { SCOPES, type Scope } from "../../gateway/auth/scope.ts";
import { TokenService } from "../../gateway/auth/token-service.ts";
import { defineAction, type Group } from "../command.ts";
import { sharedStoreOf } from "../read-home.ts";
import { withTokenStorage } from "../with-token-storage.ts";

/** Whoever may write the home's files may do everything. */
const OWNER: Principal = { id: ROOT, name: "the owner of the home", scopes: ["admin"] };

async function withBook<T>(paths: HomePaths, use: (book: TokenService) => Promise<T> | T): Promise<T> {
  const url = await sharedStoreOf(paths);
  return withTokenStorage(url === undefined ? { paths } : { url }, async (storage) =>
    use(await TokenService.open({ storage, now: () => Date.now(), log: silentLog })),
  );
}

const list = defineAction({
  summary: "list tokens and what each may do; none is printed",
  async run(context) {
    const tokens = await withBook(context.paths, (book) => book.list(OWNER));
    if (context.json) context.stdout.write(`${JSON.stringify(tokens)}\n`);
    else if (tokens.length === 0)
      context.stdout.write("No tokens but the home's own. `rookery tokens mint` makes one.\n");
    for (const token of context.json ? [] : tokens) {
      const until = token.expiresAt === undefined ? "" : `  until ${new Date(token.expiresAt).toISOString()}`;
      const person = token.person === undefined ? "" : `  as ${token.person}`;
      context.stdout.write(`${token.id}  ${token.scopes.join(",").padEnd(12)}  ${token.name}${person}${until}\n`);
    }
    return undefined;
  },
});

const mint = defineAction({
  summary: "make a token; it is printed this once",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  options: {
    scope: {
      type: "string",
      value: "SCOPE",
      multiple: true,
      description: "read, chat, operate or admin (default: chat)",
    },
    days: { type: "string", value: "N", description: "ends after so many days" },
    person: { type: "string", value: "NAME", description: "speaks as this `user` and as no other" },
    "requests-per-minute": { type: "string", value: "N", description: "how often it may ask" },
    "tokens-per-day": { type: "string", value: "N", description: "how many tokens of models it may use" },
    "dollars-per-day": { type: "string", value: "N", description: "how much it may spend" },
  },
  async run({ args: [name = ""], flags, json, stdout, paths }) {
    await createHome(paths);
    const limits = {
      requestsPerMinute: numberOf(flags["requests-per-minute"], "--requests-per-minute"),
      tokensPerDay: numberOf(flags["tokens-per-day"], "--tokens-per-day"),
      dollarsPerDay: numberOf(flags["dollars-per-day"], "--dollars-per-day"),
    };
    const minting = {
      name,
      scopes: (flags.scope ?? ["chat"]).map(scopeOf),
      expiresInDays: numberOf(flags.days, "--days"),
      person: flags.person,
      ...(Object.values(limits).some((limit) => limit !== undefined) ? { limits } : {}),
    };
    const made = await withBook(paths, (book) => book.mint(OWNER, minting));
    stdout.write(json ? `${JSON.stringify(made)}\n` : `${made.token}\n`);
    return undefined;
  },
});

const revoke = defineAction({
  summary: "revoke a token and everything it minted; their open streams end",
  usage: "<id>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const [id = ""] = context.args;
    const revoked = await withBook(context.paths, (book) => book.revoke(OWNER, id));
    context.stdout.write(context.json ? `${JSON.stringify({ revoked })}\n` : `Revoked ${revoked.join(", ")}.\n`);
    return undefined;
  },
});

export const tokensCommand: Group = {
  summary: "list, mint and revoke tokens of the gateway",
  description:
    "Tokens are kept as hashes in tokens.json of the home, or in the store where nodes share one. A token may do what its scopes say: read sees everything, chat speaks, operate changes things, admin may do all.",
  actions: { list, mint, revoke },
  fallback: "list",
};

function scopeOf(text: string): Scope {
  const scope = SCOPES.find((known) => known === text);
  if (scope) return scope;
  throw new InvalidInputError(`"${text}" is no scope.`, { hint: `Scopes: ${SCOPES.join(", ")}.` });
}

function numberOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() !== "" && Number.isFinite(number) && number > 0) return number;
  throw new InvalidInputError(`${flag} takes a number above 0.`);
}
