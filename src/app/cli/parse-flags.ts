/** Reads a command line on top of `util.parseArgs`, with messages that say what was probably meant. */
import { parseArgs } from "node:util";
import { closestWord } from "../../config/closest-word.ts";
import { UsageError } from "../../core/errors.ts";
import type { Flags, Options } from "./command.ts";

export interface CommandLine {
  readonly flags: Flags;
  readonly args: readonly string[];
}

/** Throws a `UsageError` for a flag nobody knows, a value that is missing or one that is too many. */
export function parseFlags(argv: readonly string[], options: Options): CommandLine {
  const { values, tokens } = lenient(argv, options);
  const args: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") args.push(token.value);
    if (token.kind !== "option") continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (!option) throw unknownFlag(token.rawName, options);
    if (option.type === "boolean" && token.value !== undefined) {
      throw new UsageError(`${token.rawName} takes no value.`);
    }
    const missing = token.value === undefined || (!token.inlineValue && /^-./.test(token.value));
    if (option.type === "string" && missing) {
      throw new UsageError(`${token.rawName} needs a value.`, {
        hint: `Write ${token.rawName} ${option.value ?? "VALUE"}.`,
      });
    }
  }
  return { flags: values as Flags, args };
}

/** Where in `argv` the first argument stands that is no flag and no flag's value, or undefined. Refuses nothing. */
export function firstArgument(argv: readonly string[], options: Options): number | undefined {
  return lenient(argv, options).tokens.find((token) => token.kind === "positional")?.index;
}

function lenient(argv: readonly string[], options: Options) {
  return parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      Object.entries(options).map(([name, { type, short, multiple }]) => [
        name,
        { type, ...(short ? { short } : {}), ...(multiple ? { multiple } : {}) },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
}

function unknownFlag(written: string, options: Options): UsageError {
  const meant = closestWord(written.replace(/^-+/, ""), Object.keys(options));
  return new UsageError(`Unknown flag ${written}.`, {
    hint: meant ? `Did you mean --${meant}?` : "Add --help to see the flags there are.",
  });
}
