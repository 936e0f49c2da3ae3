/** Finds and loads the command of a command line, checks its flags, runs it and returns the exit code. Never throws. */

import type { LoadedConfig } from "../../config/load-config.ts";
import { homePaths, resolveHome } from "../../config/paths.ts";
import { defined } from "../../core/defined.ts";
import { UsageError } from "../../core/errors.ts";
import { type Chosen, chooseAction, loadCommand, optionsOf, takeWord } from "./choose-action.ts";
import { type Action, type CliDeps, type CommandContext, GLOBAL_OPTIONS } from "./command.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { here, type Invocation } from "./here.ts";
import { type CommandLine, parseFlags } from "./parse-flags.ts";
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
  const command = await loadCommand(name, registry);
  const chosen = chooseAction(name, command, named.rest);
  const line = parseFlags(chosen.rest, { ...optionsOf(chosen.action ?? chosen.command), ...GLOBAL_OPTIONS });

  if (line.flags.version) return print(deps, await versionText(line.flags.json === true));
  if (line.flags.help || !chosen.action) return print(deps, await helpText(named.word, chosen));
  checkArguments(chosen, line);
  return await chosen.action.run(await withWholeIds(chosen.action, contextFor(deps, line)));
}

/** Makes the short ids of arguments and flags whole. */
async function withWholeIds(action: Action, context: CommandContext): Promise<CommandContext> {
  const { args, flags } = context;
  const hasArgument = args.length > 0 && /[<[](?:agent|run|delivery|job)\b/.test(action.usage ?? "");
  const hasFlag = Object.entries(action.options ?? {}).some(([name, { kind }]) => kind && flags[name] !== undefined);
  if (!hasArgument && !hasFlag) return context;
  const { expandIds } = await import("./expand-ids.ts");
  return { ...context, ...(await expandIds(action, context)) };
}

/** The command if none is named. A flag such as --version needs no command. */
function nameWithoutArguments(argv: readonly string[], deps: CliDeps, registry: Registry): string {
  const onlyAsks = argv.some((arg) => ["--help", "-h", "--version", "-V"].includes(arg));
  if (onlyAsks) return "help";
  const wanted = deps.stdin().isTTY ? WITHOUT_ARGUMENTS.terminal : WITHOUT_ARGUMENTS.piped;
  return Object.hasOwn(registry, wanted) ? wanted : "help";
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

async function helpText(word: string | undefined, chosen: Chosen): Promise<string> {
  const { actionHelp, commandHelp, programHelp } = await import("./help-text.ts");
  if (word === undefined) return programHelp();
  return chosen.action ? actionHelp(chosen.name, chosen.action) : commandHelp(chosen.name, chosen.command);
}

async function versionText(json: boolean): Promise<string> {
  const { readVersion } = await import("../../adapters/system/version.ts");
  return json ? `${JSON.stringify({ version: readVersion() })}\n` : `${readVersion()}\n`;
}

function print(deps: CliDeps, text: string): number {
  deps.stdout.write(text);
  return EXIT.ok;
}
