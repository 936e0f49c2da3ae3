/** The options of `createRookery`, and what a node makes of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isLanguageModel, type LanguageModel } from "../../adapters/models/ai-sdk/language-model.ts";
import { postgresUrl } from "../../adapters/store/shared-store-url.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { type Config, configSchema } from "../../config/config-schema.ts";
import { loadConfig } from "../../config/load-config.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { type HomePaths, homePaths } from "../../config/paths.ts";
import { schemaTree } from "../../config/schema-tree.ts";
import { providerDefaults } from "../../config/sections/models.ts";
import { warningsOf } from "../../config/warnings.ts";
import { InvalidInputError } from "../../core/errors.ts";
import { assertKnownKeys, type KeyTable, unknownKeyText } from "../../core/known-keys.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Model } from "../../core/ports/model.ts";
import type { Tool } from "../../core/ports/tool.ts";
import type { Store } from "../../core/store/store.ts";
import { type AiSdkTool, toolOf } from "./ai-sdk-tool.ts";
import { TOOL_KEYS } from "./define-tool.ts";

export interface RookeryOptions {
  /** The directory that holds everything. `memory`: a temporary one that `close` and the end of the process remove. */
  readonly home: string;
  /**
   * The address of a PostgreSQL database that several engines share: `postgres://user@host/database`. Or a store of your own, which
   * one engine uses at a time and you close. Default: SQLite in the home.
   */
  readonly store?: string | Store;
  /**
   * A model by its name, such as `anthropic/claude-sonnet-5`, a model of the AI SDK, or your own. Default: `models` of the
   * configuration.
   */
  readonly model?: string | Model | LanguageModel;
  /** Tools of your own, besides those of the engine: of `defineTool`, or by name those of the AI SDK's `tool()`. */
  readonly tools?: readonly Tool[] | Readonly<Record<string, AiSdkTool>>;
  readonly connectors?: readonly Connector[];
  /** The words of the configuration file. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** True: reads `rookery.json5` of the home too. Words of `config` replace its sections. Default: no file is read. */
  readonly configFile?: boolean;
  readonly clock?: Clock;
  /** Default: the file `logs/rookery.log` of the home; nothing for `memory`. */
  readonly log?: Log;
  /** The environment that holds keys. Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called if the engine cannot continue, for example because its disk is gone. Default: the log has it. */
  readonly onFatal?: (error: unknown) => void;
}

const OPTIONS: KeyTable<RookeryOptions> = {
  home: true,
  store: true,
  model: true,
  tools: true,
  connectors: true,
  config: true,
  configFile: true,
  clock: true,
  log: true,
  env: true,
  onFatal: true,
};

export const MEMORY = "memory";

/** The paths of the home, and how to remove it if it is a temporary one. */
export function openHome(options: RookeryOptions): { readonly paths: HomePaths; remove(): void } {
  assertKnownKeys("createRookery()", options, OPTIONS);
  const { home, store } = options ?? {};
  if (typeof home !== "string" || home.trim() === "") {
    throw new InvalidInputError("`home` is missing.", {
      hint: 'Name a directory, such as "./data", or "memory" for a test.',
    });
  }
  const sharedStore = typeof store === "string" ? postgresUrl(store) : undefined;
  if (home !== MEMORY) return { paths: { ...homePaths(resolve(home)), sharedStore }, remove() {} };
  const directory = mkdtempSync(join(tmpdir(), "rookery-memory-"));
  const remove = (): void => {
    process.off("exit", remove);
    rmSync(directory, { recursive: true, force: true });
  };
  process.once("exit", remove);
  return { paths: { ...homePaths(directory), sharedStore }, remove };
}

export function toolsOf(tools: RookeryOptions["tools"] = []): readonly Tool[] {
  if (!Array.isArray(tools)) return Object.entries(tools).map(([name, tool]) => toolOf(name, tool as AiSdkTool));
  // A definition that was not passed to `defineTool` has `approval`, which a tool has not: it would never ask.
  for (const tool of tools as readonly Tool[]) assertKnownKeys(`The tool ${tool.name}`, tool, TOOL_KEYS);
  return tools;
}

/** The model that the program brings. Undefined: the configuration names it. Throws `InvalidInputError` for any other value. */
export async function modelOf(options: Pick<RookeryOptions, "model" | "clock">): Promise<Model | undefined> {
  const { model, clock = systemClock } = options;
  if (model === undefined || typeof model === "string") return undefined;
  if (isLanguageModel(model)) {
    const { aiSdkModel } = await import("../../adapters/models/ai-sdk/ai-sdk-model.ts");
    return aiSdkModel(model, { clock, stallMs: providerDefaults.stallSeconds * 1_000 });
  }
  if (typeof model?.call === "function") return model;
  throw new InvalidInputError("`model` is not a model.", {
    hint: 'Give a name such as "anthropic/claude-sonnet-5", a model of the AI SDK, or an object with `call`.',
  });
}

/** Throws a `ConfigError` that names every bad value. */
export async function configOf(options: RookeryOptions, paths: HomePaths): Promise<Config> {
  const { config = {}, configFile = false, model, env = process.env } = options;
  assertConfigKeys(config);
  const words = typeof model === "string" ? { ...config, models: { ...modelsOf(config), default: model } } : config;
  const given = parseConfig({ text: JSON.stringify(words), file: "createRookery({ config })", env: {} });
  if (!configFile) return given.config;
  const file = await loadConfig(paths, env);
  const named = Object.keys(words) as (keyof Config)[];
  return { ...file.config, ...Object.fromEntries(named.map((name) => [name, given.config[name]])) };
}

/** In a file an unknown key may be of a newer version, so it is a warning. A program is written for this version. */
function assertConfigKeys(config: object): void {
  const unknown = warningsOf(schemaTree(configSchema), config).find(({ atKey }) => atKey);
  if (!unknown) return;
  const where = ["createRookery({ config })", ...unknown.path.slice(0, -1)].join(".");
  const known = unknown.meant === undefined ? [] : [unknown.meant];
  throw new InvalidInputError(`${where}: ${unknownKeyText(String(unknown.path.at(-1)), known)}`);
}

const modelsOf = ({ models }: Readonly<Record<string, unknown>>): object =>
  typeof models === "object" && models !== null ? models : {};
