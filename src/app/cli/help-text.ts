/** The help texts of the program, of a command and of an action. No line is longer than 80 columns. */
import { actionsOf } from "./choose-action.ts";
import { type Action, type Command, GLOBAL_OPTIONS, type Options } from "./command.ts";
import { EXAMPLES } from "./examples.ts";
import { HELP_COLUMNS } from "./help-groups.ts";

const WIDTH = 80;
/** Names up to this width share the line with their description. */
const NAME_WIDTH = 26;
/** The names of commands have one width in all groups. */
const COMMAND_WIDTH = 11;
const COLUMN_WIDTH = 40;

/** One screen of 80 x 24: every command with a few words. */
export function programHelp(): string {
  const [left = [], right = []] = HELP_COLUMNS.map((groups) =>
    groups.flatMap(([title, commands], at) => [
      ...(at === 0 ? [] : [""]),
      title,
      ...Object.entries(commands).map(([name, about]) => `  ${name.padEnd(COMMAND_WIDTH)} ${about}`),
    ]),
  );
  const height = Math.max(left.length, right.length);
  return page([
    "Rookery runs AI agents that survive crashes: every message is answered once.",
    "",
    "usage: rookery <command> [flags]",
    "",
    ...Array.from({ length: height }, (_, at) =>
      `${(left[at] ?? "").padEnd(COLUMN_WIDTH)}${right[at] ?? ""}`.trimEnd(),
    ),
    "",
    "Details of one command: rookery help <command>",
    "All commands and flags: rookery help --all",
  ]);
}

/** Every action of every command, in groups, and the flags that all have. */
export function wholeHelp(commands: Readonly<Record<string, Command>>): string {
  return page([
    ...HELP_COLUMNS.flat().flatMap(([title, names]) => [
      `${title}:`,
      ...table(Object.keys(names).flatMap((name) => rowsOf(name, commands[name]))),
      "",
    ]),
    "flags of every command:",
    ...optionLines(GLOBAL_OPTIONS),
    "",
    "Run `rookery help <command>` for the details of a command.",
  ]);
}

type Row = readonly [name: string, about: string];

const rowsOf = (name: string, command: Command | undefined): readonly Row[] =>
  command === undefined ? [] : actionsOf(name, command).map(([path, { summary }]) => [path, summary]);

export function commandHelp(name: string, command: Command): string {
  if (!("actions" in command)) return actionHelp(name, command);
  const actions = actionsOf(name, command).map(
    ([path, { usage, summary }]) => [[path.slice(name.length + 1), usage].filter(Boolean).join(" "), summary] as const,
  );
  return page([
    ...wrapped(`rookery ${name}: ${command.summary}`),
    ...(command.description ? ["", ...wrapped(command.description)] : []),
    "",
    `usage: rookery ${name} <action> [flags]`,
    "",
    "actions:",
    ...table(actions),
    "",
    ...wrapped(`Run \`rookery ${name} <action> --help\` for the details of an action.`),
  ]);
}

export function actionHelp(name: string, action: Action): string {
  const options = action.options ?? {};
  const examples = action.examples ?? EXAMPLES[name] ?? [];
  return page([
    ...wrapped(`rookery ${name}: ${action.summary}`),
    ...(action.description ? ["", ...wrapped(action.description)] : []),
    "",
    ...wrapped(`usage: ${["rookery", name, action.usage, "[flags]"].filter(Boolean).join(" ")}`, "", "         "),
    "",
    ...(examples.length === 0 ? [] : ["examples:", ...examples.map((one) => `  ${one}`), ""]),
    "flags:",
    ...optionLines({ ...options, ...GLOBAL_OPTIONS }),
  ]);
}

const page = (lines: readonly string[]): string => `${lines.join("\n")}\n`;

const optionLines = (options: Options): readonly string[] =>
  table(
    Object.entries(options).map(([name, option]) => {
      const short = option.short ? `-${option.short}, ` : "";
      return [`${short}--${name}${option.type === "string" ? ` ${option.value ?? "VALUE"}` : ""}`, option.description];
    }),
  );

function table(rows: readonly (readonly [string, string])[], least = 0): readonly string[] {
  const width = Math.max(least, ...rows.map(([left]) => left.length).filter((length) => length <= NAME_WIDTH), 0);
  const indent = " ".repeat(width + 4);
  return rows.flatMap(([left, right]) =>
    left.length <= width
      ? wrapped(right, `  ${left.padEnd(width)}  `, indent)
      : [...wrapped(left, "  ", "    "), ...wrapped(right, indent, indent)],
  );
}

/** The words of a text in lines of the width. A word that is longer stays whole. */
function wrapped(text: string, first = "", rest = ""): readonly string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(" ")) {
    if (!isEmpty && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = rest;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}
