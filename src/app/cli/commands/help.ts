/** `rookery help [command [action]]`: lists the commands, or describes one. */
import { listOf } from "../../../core/list.ts";
import { actionsOf, chooseAction, loadCommand } from "../choose-action.ts";
import { type Action, type Command, type CommandContext, defineAction, GLOBAL_OPTIONS } from "../command.ts";
import { EXAMPLES } from "../examples.ts";
import { actionHelp, commandHelp, programHelp, wholeHelp } from "../help-text.ts";
import { printResult } from "../print.ts";
import { REGISTRY } from "../registry.ts";

export const helpCommand = defineAction({
  summary: "show help for the program or a command",
  usage: "[command [action]]",
  arguments: { min: 0, max: 3 },
  options: { all: { type: "boolean", description: "list every action of every command, and the flags that all have" } },
  async run(context) {
    const [name, ...words] = context.args;
    if (name === undefined) return context.flags.all ? showAll(context) : showCommands(context);
    // `--help` keeps a group from choosing its fallback.
    const found = chooseAction(name, await loadCommand(name), [...words, "--help"]);
    const { summary, description } = found.command;
    const own = found.action ? aboutAction(found.name, found.action) : { actions: namesIn(found.name, found.command) };
    const text = found.action ? actionHelp(found.name, found.action) : commandHelp(found.name, found.command);
    return printResult(context, { name: found.name, summary, description, ...own }, text.trimEnd());
  },
});

function showCommands(context: CommandContext): undefined {
  const commands = Object.entries(REGISTRY).map(([name, { summary }]) => ({ name, summary }));
  return printResult(context, listOf(commands), programHelp().trimEnd());
}

async function showAll(context: CommandContext): Promise<undefined> {
  const commands = Object.fromEntries(
    await Promise.all(Object.entries(REGISTRY).map(async ([name, { load }]) => [name, await load()] as const)),
  );
  const actions = Object.entries(commands)
    .flatMap(([name, command]) => actionsOf(name, command))
    .map(([name, { summary }]) => ({ name, summary }));
  return printResult(context, listOf(actions), wholeHelp(commands).trimEnd());
}

/** Without the name of the command. */
const namesIn = (name: string, command: Command): readonly string[] =>
  actionsOf(name, command).map(([path]) => path.slice(name.length + 1));

const aboutAction = (name: string, { usage, options = {}, examples = EXAMPLES[name] ?? [] }: Action): object => ({
  usage,
  flags: { ...options, ...GLOBAL_OPTIONS },
  examples,
});
