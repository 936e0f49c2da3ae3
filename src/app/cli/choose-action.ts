/** Finds the action that a command line names: down through the groups of a command, such as `people tokens add`. */
import { closestWord } from "../../core/closest-word.ts";
import { UsageError } from "../../core/errors.ts";
import { type Action, type Command, GLOBAL_OPTIONS, type Options } from "./command.ts";
import { meantCommand, RENAMED_VERBS } from "./other-names.ts";
import { firstArgument } from "./parse-flags.ts";
import { REGISTRY, type Registry } from "./registry.ts";

export interface Chosen {
  /** The words that name it, such as `config check`. */
  readonly name: string;
  readonly command: Command;
  /** Absent if the command has actions and none is named. */
  readonly action?: Action;
  /** The command line without the words of the name. */
  readonly rest: readonly string[];
}

/** The command `name` of a registry. Throws a `UsageError` with the name that was probably meant. */
export async function loadCommand(name: string, registry: Registry = REGISTRY): Promise<Command> {
  const registration = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (registration) return await registration.load();
  const meant = meantCommand(name, Object.keys(registry));
  throw unknown(`Unknown command "${name}".`, meant, "Run `rookery help` to see the commands.");
}

export function chooseAction(name: string, command: Command, argv: readonly string[]): Chosen {
  if (!("actions" in command)) return { name, command, action: command, rest: argv };
  const { actions, fallback } = command;
  const { word: named, rest } = takeWord(argv, { ...optionsOf(command), ...GLOBAL_OPTIONS });
  // `--help` without an action describes all actions, not the fallback.
  const word = named ?? (rest.some((arg) => arg === "--help" || arg === "-h") ? undefined : fallback);
  if (word === undefined) return { name, command, rest };
  const found = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (found) return chooseAction(`${name} ${word}`, found, rest);
  const other = fallback === undefined ? undefined : actions[fallback];
  if (command.fallbackTakesWords && other) return chooseAction(`${name} ${fallback}`, other, argv);
  const meant = meantAction(word, Object.keys(actions));
  throw unknown(`Unknown action "${word}" of ${name}.`, meant, `Run \`rookery help ${name}\` to see its actions.`);
}

/** Removes the first argument that is not a flag. */
export function takeWord(argv: readonly string[], options: Options): { word?: string; rest: readonly string[] } {
  const at = firstArgument(argv, options);
  const word = at === undefined ? undefined : argv[at];
  return at === undefined || word === undefined ? { rest: argv } : { word, rest: argv.toSpliced(at, 1) };
}

/** Every action of a command with the words that name it. */
export const actionsOf = (name: string, command: Command): readonly (readonly [string, Action])[] =>
  "actions" in command
    ? Object.entries(command.actions).flatMap(([word, one]) => actionsOf(`${name} ${word}`, one))
    : [[name, command]];

/** The flags of all actions of a command. */
export const optionsOf = (command: Command): Options =>
  Object.assign({}, ...actionsOf("", command).map(([, { options }]) => options ?? {}));

function meantAction(word: string, actions: readonly string[]): string | undefined {
  const verbs = Object.hasOwn(RENAMED_VERBS, word) ? RENAMED_VERBS[word] : undefined;
  const renamed = verbs?.find((one) => actions.includes(one));
  return renamed ?? closestWord(word, actions);
}

const unknown = (message: string, meant: string | undefined, hint: string): UsageError =>
  new UsageError(message, { hint: meant ? `Did you mean "${meant}"? ${hint}` : hint });
