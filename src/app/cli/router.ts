/** Finds and loads the command of a command line, checks its flags, runs it and returns the exit code. Never throws. */

import type { LoadedConfig } from "../../config/load-config.ts";
import { homePaths, resolveHome } from "../../config/paths.ts";
import { closestWord } from "../../core/closest-word.ts";
import { defined } from "../../core/defined.ts";
import { UsageError } from "../../core/errors.ts";
import {
  type Action,
  type CliDeps,
  type Command,
  type CommandContext,
  GLOBAL_OPTIONS,
  type Options,
} from "./command.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { here, type Invocation } from "./here.ts";
import { type CommandLine, firstArgument, parseFlags } from "./parse-flags.ts";
import { printError } from "./print-error.ts";
import { REGISTRY, type Registry, WITHOUT_ARGUMENTS } from "./registry.ts";
import { safeOutput } from "./safe-output.ts";

export async function runCli(argv: readonly string[], given: CliDeps, registry: Registry = REGISTRY): Promise<number> {
  const deps = { ...given, stdout: safeOutput(given.stdout), stderr: safeOutput(given.stderr) };
  try {
    return (await dispatch(argv, deps, registry)) ?? EXIT.ok;
  } catch (error) {
    const flags = namedHome(argv);
    printError(error, deps, { json: argv.includes("--json"), here: (text) => here(text, invocationOf(deps, flags)) });
    return exitCodeOf(error);
  }
}

const invocationOf = ({ program = "rookery" }: CliDeps, home: string | undefined): Invocation => ({ program, home });

/** The value of `--home`, also on a command line that cannot be understood. */
function namedHome(argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex((arg) => arg === "--home" || arg.startsWith("--home="));
  const value = argv[at]?.startsWith("--home=") ? argv[at].slice("--home=".length) : argv[at + 1];
  return at === -1 || !value || value.startsWith("-") ? undefined : value;
}

async function dispatch(argv: readonly string[], deps: CliDeps, registry: Registry): Promise<number | undefined> {
  const named = takeWord(argv, GLOBAL_OPTIONS);
  const name = named.word ?? nameWithoutArguments(argv, deps, registry);
  const command = await load(name, registry);
  const chosen = chooseAction(name, command, named.rest);
  const line = parseFlags(chosen.rest, { ...chosen.action?.options, ...GLOBAL_OPTIONS });

  if (line.flags.version) return print(deps, await versionText(line.flags.json === true));
  if (line.flags.help || !chosen.action) return print(deps, await helpText(named.word, command, chosen, registry));
  checkArguments(chosen, line);
  const context = contextFor(deps, line);
  return await chosen.action.run({ ...context, args: await shortened(chosen.action, context) });
}

/** The arguments with short ids made whole. */
async function shortened(action: Action, context: CommandContext): Promise<readonly string[]> {
  if (context.args.length === 0 || !/[<[](?:agent|run|delivery|job)\b/.test(action.usage ?? "")) return context.args;
  const { expandIds } = await import("./expand-ids.ts");
  return expandIds(action, context);
}

/** Removes the first argument that is not a flag. */
function takeWord(argv: readonly string[], options: Options): { word?: string; rest: readonly string[] } {
  const at = firstArgument(argv, options);
  const word = at === undefined ? undefined : argv[at];
  return at === undefined || word === undefined ? { rest: argv } : { word, rest: argv.toSpliced(at, 1) };
}

/** The command if none is named. A flag such as --version needs no command. */
function nameWithoutArguments(argv: readonly string[], deps: CliDeps, registry: Registry): string {
  const onlyAsks = argv.some((arg) => ["--help", "-h", "--version", "-V"].includes(arg));
  if (onlyAsks) return "help";
  const wanted = deps.stdin().isTTY ? WITHOUT_ARGUMENTS.terminal : WITHOUT_ARGUMENTS.piped;
  return Object.hasOwn(registry, wanted) ? wanted : "help";
}

async function load(name: string, registry: Registry): Promise<Command> {
  const registration = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (registration) return await registration.load();
  throw unknown(`Unknown command "${name}".`, name, Object.keys(registry), "Run `rookery help` to see the commands.");
}

interface Chosen {
  /** The command and the action, such as `config check`. */
  readonly name: string;
  /** Absent if the command has actions and none is named. */
  readonly action?: Action;
  readonly rest: readonly string[];
}

function chooseAction(name: string, command: Command, argv: readonly string[]): Chosen {
  if (!("actions" in command)) return { name, action: command, rest: argv };
  const options = Object.assign({}, ...Object.values(command.actions).map((action) => action.options ?? {}));
  const { word: named, rest } = takeWord(argv, { ...options, ...GLOBAL_OPTIONS });
  // `--help` without an action describes all actions, not the fallback.
  const word = named ?? (rest.some((arg) => arg === "--help" || arg === "-h") ? undefined : command.fallback);
  if (word === undefined) return { name, rest };
  const action = Object.hasOwn(command.actions, word) ? command.actions[word] : undefined;
  if (action) return { name: `${name} ${word}`, action, rest };
  if (command.fallbackTakesWords && command.fallback !== undefined) {
    return { name: `${name} ${command.fallback}`, action: command.actions[command.fallback], rest: argv };
  }
  const hint = `Run \`rookery help ${name}\` to see its actions.`;
  throw unknown(`Unknown action "${word}" of ${name}.`, word, Object.keys(command.actions), hint);
}

function unknown(message: string, word: string, candidates: readonly string[], hint: string): UsageError {
  const meant = closestWord(word, candidates);
  return new UsageError(message, { hint: meant ? `Did you mean "${meant}"? ${hint}` : hint });
}

function checkArguments({ name, action }: Chosen, { args }: CommandLine): void {
  const { min, max } = action?.arguments ?? { min: 0, max: 0 };
  if (args.length >= min && args.length <= max) return;
  const problem = args.length < min ? "needs more arguments" : `does not take the argument "${args[max]}"`;
  throw new UsageError(`rookery ${name} ${problem}.`, {
    hint: `Usage: ${["rookery", name, action?.usage].filter(Boolean).join(" ")}`,
  });
}

function contextFor(deps: CliDeps, { flags, args }: CommandLine): CommandContext {
  const home = resolveHome(typeof flags.home === "string" ? flags.home : undefined, deps.env);
  const store = typeof flags.store === "string" ? flags.store : undefined;
  const paths = { ...homePaths(home), ...defined({ sharedStore: store }) };
  let loaded: Promise<LoadedConfig> | undefined;
  const read = async (): Promise<LoadedConfig> => {
    // Only commands that read the configuration load the schema library.
    const { loadConfig } = await import("../../config/load-config.ts");
    const config = await loadConfig(paths, deps.env);
    if (config.warnings.length > 0) {
      const { formatNote } = await import("../../config/parse-config.ts");
      for (const warning of config.warnings) deps.stderr.write(`rookery: warning: ${formatNote(warning)}\n`);
    }
    return config;
  };
  return {
    ...deps,
    args,
    flags,
    json: flags.json === true,
    here: (text) => here(text, invocationOf(deps, typeof flags.home === "string" ? flags.home : undefined)),
    home,
    paths,
    loadConfig: () => {
      loaded ??= read();
      return loaded;
    },
  };
}

async function helpText(
  word: string | undefined,
  command: Command,
  chosen: Chosen,
  registry: Registry,
): Promise<string> {
  const { actionHelp, commandHelp, programHelp } = await import("./help-text.ts");
  if (word === undefined) return programHelp(registry);
  return chosen.action ? actionHelp(chosen.name, chosen.action) : commandHelp(chosen.name, command);
}

async function versionText(json: boolean): Promise<string> {
  const { readVersion } = await import("../../adapters/system/version.ts");
  return json ? `${JSON.stringify({ version: readVersion() })}\n` : `${readVersion()}\n`;
}

function print(deps: CliDeps, text: string): number {
  deps.stdout.write(text);
  return EXIT.ok;
}
