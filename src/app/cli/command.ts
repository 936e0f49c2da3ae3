/**
 * The contract of a command. A command reaches the outside only through its context, so a test can run it without a process.
 * It writes its result to `stdout` and everything else to `stderr`, and fails by throwing a typed error.
 */

import type { LoadedConfig } from "../../config/load-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { ArgumentKind } from "./argument-kinds.ts";

export interface Output {
  write(text: string): unknown;
  /** Draws lines of full, upper, lower and empty blocks, white on black whatever the colours of the terminal are. */
  draw?(lines: readonly string[]): void;
  readonly isTTY?: boolean;
  /** The width of the terminal. */
  readonly columns?: number;
  /** Its height. */
  readonly rows?: number;
}

export interface Input extends AsyncIterable<string | Uint8Array> {
  readonly isTTY?: boolean;
}

/** What a command line runs in. The router makes both outputs safe for a terminal. `stdin` is a function because opening it keeps a process alive. */
export interface CliDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: () => Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** How the program was called, for hints. Default: `rookery`. */
  readonly program?: string;
  /** The directory of the installed package. Default: the one of this file. */
  readonly root?: string;
}

export interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** The name of the value in the help. */
  readonly value?: string;
  /** The kind of thing that the value names. Its id may be shortened. */
  readonly kind?: ArgumentKind;
  readonly description: string;
}

export type Options = Readonly<Record<string, Option>>;

/** The type of a flag's value. */
type FlagOf<Known extends Option> = Known["type"] extends infer Type
  ? Type extends "boolean"
    ? boolean
    : Known["multiple"] extends true
      ? readonly string[]
      : string
  : never;

export type Flags<Known extends Options = Options> = { readonly [Name in keyof Known]?: FlagOf<Known[Name]> };

export interface CommandContext<Known extends Options = Options> extends CliDeps {
  /** The arguments after the command, without flags. */
  readonly args: readonly string[];
  readonly flags: Flags<Known>;
  /** Print one JSON document, for programs. */
  readonly json: boolean;
  readonly home: string;
  readonly paths: HomePaths;
  /** A hint with its commands as they work here. */
  here(text: string): string;
  /** Reads the configuration once and writes its warnings to `stderr`. */
  loadConfig(): Promise<LoadedConfig>;
}

/** A command that runs. Returns the exit code, or undefined for success. */
export interface Action<Known extends Options = Options> {
  readonly summary: string;
  /** The arguments in the help, such as `<id> [text]`. */
  readonly usage?: string;
  /** Details for the help, in whole sentences. */
  readonly description?: string;
  readonly options?: Known;
  /** Command lines that work, for the help. */
  readonly examples?: readonly string[];
  /** How many arguments the action takes. The router refuses any other number. Default: none. */
  readonly arguments?: { readonly min: number; readonly max: number };
  run(context: CommandContext<Known>): Promise<number | undefined> | number | undefined;
}

/** A command with actions, such as `rookery config check`, or with groups of them, such as `rookery people tokens add`. */
export interface Group {
  readonly summary: string;
  readonly description?: string;
  readonly actions: Readonly<Record<string, Action | Group>>;
  /** The action that runs if none is named. Default: show the help. */
  readonly fallback?: string;
  /** A word that is no action is the first argument of the fallback. */
  readonly fallbackTakesWords?: boolean;
}

export type Command = Action | Group;

/** Infers the types of the flags from `options`. */
export const defineAction = <const Known extends Options>(action: Action<Known>): Action => action;

/** The flags of every command. */
export const GLOBAL_OPTIONS = {
  home: { type: "string", value: "DIR", description: "the home directory (default: $ROOKERY_HOME or ~/.rookery)" },
  store: {
    type: "string",
    value: "URL",
    description:
      "a shared PostgreSQL database (default: $ROOKERY_STORE, else store.url, else the store in the home directory)",
  },
  json: { type: "boolean", description: "print JSON" },
  help: { type: "boolean", short: "h", description: "show help" },
  version: { type: "boolean", short: "V", description: "show the version" },
} as const satisfies Options;
