/** Parses a command line with `util.parseArgs`, and suggests the flag that was probably meant. */
import { closestWord } from "../../core/closest-word.ts";
import { defined } from "../../core/defined.ts";
import { UsageError } from "../../core/errors.ts";
import type { Flags, Options } from "./command.ts";

export interface CommandLine {
  readonly flags: Flags;
  readonly args: readonly string[];
}

/** Throws a `UsageError` for an unknown flag, a missing value and an unexpected value. */
export function parseFlags(argv: readonly string[], options: Options): CommandLine {
  const { values, tokens } = lenient(argv, options);
  const args: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") args.push(token.value);
    if (token.kind !== "option") continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (!option) throw unknownFlag(token.rawName, options);
    if (option.type === "boolean" && token.value !== undefined) {
      throw new UsageError(`${token.rawName} takes no value.`, { hint: `Write ${token.rawName} alone.` });
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

/** The index in `argv` of the first argument that is not a flag or the value of one. Never throws. */
export function firstArgument(argv: readonly string[], options: Options): number | undefined {
  return lenient(argv, options).tokens.find((token) => token.kind === "positional")?.index;
}

function lenient(argv: readonly string[], options: Options) {
  // An import of the module by name would load everything that it offers.
  return process.getBuiltinModule("node:util").parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      Object.entries(options).map(([name, { type, short, multiple }]) => [
        name,
        { type, ...defined({ short, multiple }) },
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
    hint: meant ? `Did you mean --${meant}?` : "Add --help to see the flags.",
  });
}
