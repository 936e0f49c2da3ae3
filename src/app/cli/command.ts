/**
 * What a command is and what it gets. A command knows the world only through its context, so it can be tested without a
 * process; it writes to `stdout` what was asked for and to `stderr` everything else, and fails by throwing a typed error.
 */
import type { LoadedConfig } from "../../config/load-config.ts";
import type { HomePaths } from "../../config/paths.ts";

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface Input extends AsyncIterable<string | Uint8Array> {
  readonly isTTY?: boolean;
}

/** The outside of one invocation. `stdin` is a function: touching it keeps a process alive. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: () => Input;
  readonly stdout: Output;
  readonly stderr: Output;
}

export interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** How the value is called in the help. */
  readonly value?: string;
  readonly description: string;
}

export type Options = Readonly<Record<string, Option>>;

/** What a flag of this option holds. */
type FlagOf<Known extends Option> = Known["type"] extends infer Type
  ? Type extends "boolean"
    ? boolean
    : Known["multiple"] extends true
      ? readonly string[]
      : string
  : never;

export type Flags<Known extends Options = Options> = { readonly [Name in keyof Known]?: FlagOf<Known[Name]> };

export interface CommandContext<Known extends Options = Options> extends World {
  /** What follows the command's name, without flags. */
  readonly args: readonly string[];
  readonly flags: Flags<Known>;
  /** Print for programs: one JSON document. */
  readonly json: boolean;
  readonly home: string;
  readonly paths: HomePaths;
  /** Reads the configuration, once; its warnings go to `stderr`. */
  loadConfig(): Promise<LoadedConfig>;
}

/** Something that can be run. Gives the exit code, or nothing for success. */
export interface Action<Known extends Options = Options> {
  readonly summary: string;
  /** The arguments as the help shows them, such as `<id> [text]`. */
  readonly usage?: string;
  /** More to say than the summary: whole sentences. */
  readonly description?: string;
  readonly options?: Known;
  /** How many arguments there may be; the router refuses any other number. Default: none. */
  readonly arguments?: { readonly min: number; readonly max: number };
  run(context: CommandContext<Known>): Promise<number | undefined> | number | undefined;
}

/** A command with actions of its own, as in `rookery config check`. */
export interface Group {
  readonly summary: string;
  readonly description?: string;
  readonly actions: Readonly<Record<string, Action>>;
  /** Runs when no action is named; without it the help is shown. */
  readonly fallback?: string;
}

export type Command = Action | Group;

/** Keeps the flags' types: `defineAction({ options, run({ flags }) {} })`. */
export const defineAction = <const Known extends Options>(action: Action<Known>): Action => action;

/** Flags every command understands. */
export const GLOBAL_OPTIONS = {
  home: { type: "string", value: "DIR", description: "the home directory (default: $ROOKERY_HOME or ~/.rookery)" },
  store: {
    type: "string",
    value: "URL",
    description: "a shared PostgreSQL (default: $ROOKERY_STORE or store.url, else the home)",
  },
  json: { type: "boolean", description: "print JSON, for programs" },
  help: { type: "boolean", short: "h", description: "show help" },
  version: { type: "boolean", short: "V", description: "show the version" },
} as const satisfies Options;
