/**
 * The command line of a proof that a person starts: `--help` says what it does and takes, and what cannot be read is said in a
 * sentence. Both end the process.
 */
import { parseArgs } from "node:util";
import { TOOLS } from "../../scripts/tools.ts";

interface Described {
  readonly about: string;
}
interface Flag extends Described {
  readonly kind: "flag";
}
/** Without a default the option may be left out. */
interface Count extends Described {
  readonly kind: "count";
  readonly least: number;
  readonly default?: number;
}
interface Text extends Described {
  readonly kind: "text";
  readonly shown: string;
  readonly default?: string;
  /** Other texts are refused. */
  readonly oneOf?: readonly string[];
}
/** May be given several times. */
interface Texts extends Described {
  readonly kind: "texts";
  readonly shown: string;
}
type Option = Flag | Count | Text | Texts;

type Value<O extends Option> = O extends Flag
  ? boolean
  : O extends Texts
    ? readonly string[] | undefined
    : O extends Count
      ? O extends { readonly default: number }
        ? number
        : number | undefined
      : O extends { readonly default: string }
        ? string
        : string | undefined;

export interface CommandLine<O extends Readonly<Record<string, Option>>> {
  /** A script of package.json, or a tool. */
  readonly name: string;
  readonly about: string;
  readonly options: O;
  /** How words without an option are called, if there may be any. */
  readonly words?: string;
}

export interface Read<O extends Readonly<Record<string, Option>>> {
  readonly values: { readonly [K in keyof O]: Value<O[K]> };
  readonly words: readonly string[];
}

/** Throws a `TypeError` or `RangeError` whose message is for a person. */
export function parseCommandLine<O extends Readonly<Record<string, Option>>>(
  { options, words }: CommandLine<O>,
  argv: readonly string[],
): Read<O> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: words !== undefined,
    options: Object.fromEntries(
      Object.entries(options).map(([name, { kind }]) => [
        name,
        kind === "flag" ? { type: "boolean" as const } : { type: "string" as const, multiple: kind === "texts" },
      ]),
    ),
  });
  const read = Object.entries(options).map(([name, option]) => [name, readValue(name, option, values[name])]);
  return { values: Object.fromEntries(read), words: positionals };
}

function readValue(name: string, option: Option, given: unknown): unknown {
  if (option.kind === "flag") return given === true;
  if (option.kind === "texts") return given;
  if (given === undefined) return option.default;
  if (option.kind === "count") return count(name, option, String(given));
  if (option.oneOf && !option.oneOf.includes(String(given))) {
    throw new RangeError(`--${name} takes ${option.oneOf.join(", ")}, and not "${given}".`);
  }
  return given;
}

function count(name: string, { least }: Count, given: string): number {
  const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
  if (number >= least) return number;
  throw new RangeError(`--${name} takes a whole number, ${least} or more, and not "${given}".`);
}

export function helpOf({ name, about, options, words }: CommandLine<Readonly<Record<string, Option>>>): string {
  const lines = Object.entries(options).map(([option, one]) => {
    const shown = one.kind === "flag" ? "" : ` ${"shown" in one ? one.shown : "N"}`;
    const more = [
      one.kind === "texts" ? "may be repeated" : "",
      one.kind === "text" && one.oneOf ? one.oneOf.join(", ") : "",
      "default" in one && one.default !== undefined && one.default !== "" ? `default ${one.default}` : "",
    ].filter((word) => word !== "");
    return [`  --${option}${shown}`, `${one.about}${more.length > 0 ? ` (${more.join("; ")})` : ""}`] as const;
  });
  const width = Math.max(...lines.map(([left]) => left.length)) + 2;
  const usage = `Usage: ${startOf(name)} [options]${words === undefined ? "" : ` [${words} …]`}`;
  return [about, "", usage, "", ...lines.map(([left, right]) => `${left.padEnd(width)}${inColumn(right, width)}`)].join(
    "\n",
  );
}

const startOf = (name: string): string =>
  Object.hasOwn(TOOLS, name) ? `npm run tool -- ${name}` : `npm run ${name} --`;

/** Broken into lines that begin at a column and end with the hundredth at the latest. */
function inColumn(text: string, column: number): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && column + line.length + 1 + word.length > 100) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join(`\n${" ".repeat(column)}`);
}

export function readCommandLine<const O extends Readonly<Record<string, Option>>>(line: CommandLine<O>): Read<O> {
  const argv = process.argv.slice(2);
  if (argv.includes("--help") || argv.includes("-h")) {
    console.log(helpOf(line));
    process.exit(0);
  }
  try {
    return parseCommandLine(line, argv);
  } catch (error) {
    console.error(`${(error as Error).message.split(". To specify")[0]}\n${startOf(line.name)} --help says more.`);
    process.exit(2);
  }
}
