/**
 * Short ids: an argument that is the beginning of exactly one id becomes that id. Names come first, an unknown text stays as it is,
 * and one that fits several ids is an error that lists them.
 */
import { existsSync } from "node:fs";
import type { IdTable } from "../../adapters/store/find-ids.ts";
import { UsageError } from "../../core/errors.ts";
import { type ArgumentKind, argumentKind } from "./argument-kinds.ts";
import type { Action, CommandContext } from "./command.ts";

const TABLES: Readonly<Partial<Record<ArgumentKind, IdTable>>> = {
  agent: "agents",
  run: "runs",
  delivery: "deliveries",
  job: "jobs",
};
/** Whole ids: a cuid2, a uuid. Other ids have no fixed length. */
const LENGTHS: Readonly<Partial<Record<ArgumentKind, number>>> = { agent: 24, run: 36, job: 36 };
const LEAST = 4;
const LEAST_RECIPIENT = 8;
const SHOWN = 5;
/** More deliveries than the runs of one millisecond have. */
const OF_ONE_RUN = 500;

export async function expandIds(
  action: Action,
  context: CommandContext,
): Promise<Pick<CommandContext, "args" | "flags">> {
  const whole = async (kind: ArgumentKind | undefined, text: string): Promise<string> =>
    kind && mayBeShort(kind, text) ? expanding(context, kind, text) : text;
  const args: string[] = [];
  for (const [index, text] of context.args.entries()) args.push(await whole(argumentKind(action.usage, index), text));
  const flags = { ...context.flags };
  for (const [name, { kind }] of Object.entries(action.options ?? {})) {
    const value = flags[name];
    if (typeof value === "string") flags[name] = await whole(kind, value);
  }
  return { args, flags };
}

/**
 * A recipient with a short id made whole. Any other text may be the name of a new conversation, so a beginning counts only from
 * eight characters: by chance no word is the beginning of an id then. Ids of an engine elsewhere are not known here.
 */
export async function wholeName(context: CommandContext, name: string | undefined): Promise<string | undefined> {
  const isHere = !("url" in context.flags) || context.flags.url === undefined;
  if (name === undefined || !isHere || name.length < LEAST_RECIPIENT || !mayBeShort("agent", name)) return name;
  return expanding(context, "agent", name);
}

const mayBeShort = (kind: ArgumentKind, text: string): boolean =>
  TABLES[kind] !== undefined &&
  text.length >= LEAST &&
  text.length < (LENGTHS[kind] ?? 64) &&
  /^[0-9a-z][0-9a-z.-]*$/.test(text);

async function expanding(context: CommandContext, kind: ArgumentKind, text: string): Promise<string> {
  const at = await storeOf(context);
  const table = TABLES[kind];
  if (!at || !table) return text;
  if (kind === "agent" && (await isName(context, text))) return text;
  const { idsBeginning } = await import("../../adapters/store/find-ids.ts");
  // A short id of a delivery keeps its number in the run.
  const [start = "", ordinal] = kind === "delivery" ? text.split(".") : [text];
  const limit = ordinal === undefined ? SHOWN + 1 : OF_ONE_RUN;
  const beginning: readonly string[] = await idsBeginning(at, table, start, limit).catch(() => []);
  const found = ordinal === undefined ? beginning : beginning.filter((id) => id.endsWith(`.${ordinal}`));
  if (found.includes(text) || found.length === 0) return text;
  if (found.length === 1) return found[0] ?? text;
  const more = found.length > SHOWN ? ", …" : "";
  throw new UsageError(`"${text}" is the beginning of several ids: ${found.slice(0, SHOWN).join(", ")}${more}.`, {
    hint: "Write one more letter.",
  });
}

async function storeOf({ paths }: CommandContext) {
  const { sharedStoreOf } = await import("./read-home.ts");
  const url = await sharedStoreOf(paths).catch(() => undefined);
  if (url !== undefined) return { url };
  return existsSync(paths.database) ? { database: paths.database } : undefined;
}

async function isName({ paths, loadConfig }: CommandContext, text: string): Promise<boolean> {
  const { readHome } = await import("./read-home.ts");
  const { agentsNamed } = await import("../gateway/messages/address.ts");
  const { config } = await loadConfig();
  return readHome(paths, async (store) => (await agentsNamed(store, text, config)).length > 0).catch(() => true);
}
