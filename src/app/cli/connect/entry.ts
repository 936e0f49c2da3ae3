/** Shared by the kinds of `rookery channels add`: the name of the entry, its secrets, its place in the configuration, and the owner's account. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { OptionalPackage } from "../../../adapters/connectors/packages/optional-package.ts";
import type { ConnectorKind } from "../../../config/connector-kinds.ts";
import { createHome } from "../../../config/create-home.ts";
import { withEntry } from "../../../config/edit-config.ts";
import { loadConfig } from "../../../config/load-config.ts";
import { NotFoundError, UsageError } from "../../../core/errors.ts";
import { findEngine } from "../../gateway/control/find-engine.ts";
import type { ConnectorItem } from "../../gateway/schemas/status.ts";
import { packageOf } from "../../node/configured-connectors.ts";
import { changeFile } from "../change-file.ts";
import { withApi } from "../client/with-api.ts";
import type { CommandContext } from "../command.ts";
import { printResult } from "../print.ts";
import { loadPrompts } from "../prompts.ts";

const STARTED_MS = 10_000;

export function entryName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,63}$/u.test(name) && name !== "default") return name;
  throw new UsageError(`"${name}" cannot be the name of an entry.`);
}

export const packagesOf = (kind: ConnectorKind): readonly OptionalPackage[] => [packageOf(kind) ?? []].flat();

export interface FoundSecret {
  readonly value: string;
  /** As the configuration refers to it. */
  readonly reference: string;
  /** Writes the file, once everything else is known to be right. */
  store?(): void;
}

/** A secret from an environment variable or a file that a flag names. Undefined if there is no such flag. */
export function givenSecret(
  { env }: Pick<CommandContext, "env">,
  { variable, file }: { readonly variable?: string; readonly file?: string },
): FoundSecret | undefined {
  if (variable !== undefined) {
    const value = env[variable];
    if (!value) throw new UsageError(`The environment variable ${variable} is not set.`);
    return { value, reference: `{ env: ${JSON.stringify(variable)} }` };
  }
  if (file === undefined) return undefined;
  if (!existsSync(file)) throw new NotFoundError(`There is no file ${file}.`);
  return { value: readFileSync(file, "utf8").trim(), reference: fileReference(resolve(file)) };
}

const fileReference = (path: string): string => `{ file: ${JSON.stringify(path)} }`;

/** A secret that is kept in a file of the home, which only its owner can read. The reference is relative: a restored home reads its own file. */
export function keptSecret({ paths }: Pick<CommandContext, "paths">, name: string, value: string): FoundSecret {
  const directory = join(paths.home, "secrets");
  return {
    ...{ value, reference: fileReference(`secrets/${name}`) },
    store() {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeFileSync(join(directory, name), `${value}\n`, { mode: 0o600 });
    },
  };
}

export const newSecret = (): string => randomBytes(24).toString("base64url");

/** The configuration with the entry. Throws if it cannot be added; nothing is written. */
export function configWith({ paths }: Pick<CommandContext, "paths">, name: string, entry: string): string {
  const before = existsSync(paths.config) ? readFileSync(paths.config, "utf8") : "";
  return withEntry(before, "connectors", name, entry);
}

/** The fields of an entry as JSON5. Undefined ones are left out. */
export const entryText = (fields: Readonly<Record<string, string | undefined>>): string =>
  `{ ${Object.entries(fields)
    .flatMap(([key, value]) => (value === undefined ? [] : [`${key}: ${value}`]))
    .join(", ")} }`;

/** What `rookery channels add` did. */
export interface Connected {
  readonly name: string;
  readonly file: string;
  /** For `rookery config changes undo`. */
  readonly change: number | null;
  /** The owner's account there. */
  readonly owner?: string;
  /** Where the platform, or your program, posts messages to. */
  readonly address?: string;
  /** What you enter at the other side: the verify token, or the secret of both sides. Only if this command made it. */
  readonly secret?: string;
  /** Whether it is connected by now, and what to do next. */
  readonly state: string;
}

/** Tells a step: beside the document, if one is printed. */
export const tell = (
  { json, stdout, stderr }: Pick<CommandContext, "json" | "stdout" | "stderr">,
  text: string,
): void => void (json ? stderr : stdout).write(`${text}\n`);

/** The last line says what to do next. */
export const connected = (context: CommandContext, done: Connected): undefined =>
  printResult(context, done, context.here(done.state));

interface NewEntry {
  readonly name: string;
  readonly config: string;
  readonly secrets: readonly FoundSecret[];
  /** The owner's account there. Absent: it is known already, or said later. */
  readonly owner?: string;
}

/** Writes everything, the configuration last. An engine that runs takes it at once. */
export async function addEntry(
  context: CommandContext,
  { name, config, secrets, owner }: NewEntry,
): Promise<Omit<Connected, "state">> {
  const { paths } = context;
  await createHome(paths);
  for (const one of secrets) one.store?.();
  if (owner !== undefined) await linkOwner(context, owner);
  const change = await changeFile(context, { file: paths.config, text: config, why: `connect ${name}` });
  const you = owner === undefined ? "" : ` ${owner} is you.`;
  const undo = change === undefined ? "" : ` Undo it with \`rookery config changes undo ${change}\`.`;
  tell(context, context.here(`Added connectors.${name} to ${paths.config}.${you}${undo}`));
  return { name, file: paths.config, change: change ?? null, owner };
}

const linkOwner = (context: CommandContext, account: string): Promise<unknown> =>
  withApi(context, (api) => api.ask({ method: "POST", path: "/api/owner/accounts", body: { account } }));

/** The state of an entry, again and again, while an engine runs: it reads the configuration by itself, which takes a moment. */
export async function* statesOf(
  context: CommandContext,
  name: string,
  { forMs, everyMs }: { readonly forMs: number; readonly everyMs: number },
): AsyncGenerator<ConnectorItem> {
  if (!(await findEngine(context.paths.home))) return;
  for (const until = performance.now() + forMs; performance.now() < until; ) {
    const { items } = (await withApi(context, (api) => api.ask({ method: "GET", path: "/api/connectors" }))) as {
      items: readonly ConnectorItem[];
    };
    const found = items.find((one) => one.name === name);
    if (found) yield found;
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** Whether it is connected by now. */
export async function stateOf(context: CommandContext, name: string, next: string): Promise<string> {
  let state = "";
  for await (const found of statesOf(context, name, { forMs: STARTED_MS, everyMs: 250 })) {
    state = `${found.state}: ${found.detail}`;
    if (found.state === "running") return `It is connected (${found.detail}). Write to it, and it answers.`;
  }
  return state.startsWith("failing") ? `It does not work yet: ${state}` : next;
}

/** Where the platform calls an account. */
export async function webhookAddress({ paths, env }: CommandContext, name: string): Promise<string> {
  const { config } = await loadConfig(paths, env);
  const root = config.gateway.publicUrl ?? "https://YOUR-ADDRESS";
  return `${root.replace(/\/$/u, "")}/channels/${name}`;
}

/** Asks at a terminal. Without one, the flag must say it. */
export async function askText(
  { stdin }: CommandContext,
  question: string,
  flag: string,
  { secret = false } = {},
): Promise<string> {
  if (!stdin().isTTY) throw new UsageError(`--${flag} is missing.`);
  const prompts = await loadPrompts();
  const said = secret
    ? await prompts.password({ message: question })
    : await prompts.text({ message: question, placeholder: "" });
  if (prompts.isCancel(said)) throw new UsageError("Cancelled. Nothing was changed.");
  const text = (said ?? "").trim();
  if (text === "") throw new UsageError("Nothing was typed. Nothing was changed.");
  return text;
}
