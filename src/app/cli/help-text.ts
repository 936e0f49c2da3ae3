/** The help texts of the program, of a command and of an action. */
import { type Action, type Command, GLOBAL_OPTIONS, type Options } from "./command.ts";
import type { Registry } from "./registry.ts";

export function programHelp(registry: Registry): string {
  const commands = Object.entries(registry).map(([name, { summary }]) => [name, summary] as const);
  return [
    "Rookery runs AI agents that survive crashes: every message is answered once and in order.",
    "",
    "usage: rookery <command> [flags]",
    "",
    "commands:",
    ...table(commands),
    "",
    "flags of every command:",
    ...optionLines(GLOBAL_OPTIONS),
    "",
    "Run `rookery help <command>` for the details of a command.",
    "",
  ].join("\n");
}

export function commandHelp(name: string, command: Command): string {
  if (!("actions" in command)) return actionHelp(name, command);
  const actions = Object.entries(command.actions).map(
    ([action, { usage, summary }]) => [[action, usage].filter(Boolean).join(" "), summary] as const,
  );
  return [
    `rookery ${name}: ${command.summary}`,
    ...(command.description ? ["", command.description] : []),
    "",
    `usage: rookery ${name} <action> [flags]`,
    "",
    "actions:",
    ...table(actions),
    "",
    `Run \`rookery ${name} <action> --help\` for the details of an action.`,
    "",
  ].join("\n");
}

export function actionHelp(name: string, action: Action): string {
  const options = action.options ?? {};
  return [
    `rookery ${name}: ${action.summary}`,
    ...(action.description ? ["", action.description] : []),
    "",
    `usage: ${["rookery", name, action.usage, "[flags]"].filter(Boolean).join(" ")}`,
    "",
    "flags:",
    ...optionLines({ ...options, ...GLOBAL_OPTIONS }),
    "",
  ].join("\n");
}

const optionLines = (options: Options): readonly string[] =>
  table(
    Object.entries(options).map(([name, option]) => {
      const short = option.short ? `-${option.short}, ` : "";
      return [`${short}--${name}${option.type === "string" ? ` ${option.value ?? "VALUE"}` : ""}`, option.description];
    }),
  );

function table(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
