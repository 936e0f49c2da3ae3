/** `rookery help [command [action]]`: lists the commands, or describes one. */
import { closestWord } from "../../../core/closest-word.ts";
import { UsageError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { type Action, defineAction, GLOBAL_OPTIONS } from "../command.ts";
import { EXAMPLES } from "../examples.ts";
import { actionHelp, commandHelp, programHelp } from "../help-text.ts";
import { printResult } from "../print.ts";
import { REGISTRY } from "../registry.ts";

export const helpCommand = defineAction({
  summary: "show help for the program or a command",
  usage: "[command [action]]",
  arguments: { min: 0, max: 2 },
  async run(context) {
    const [name, actionName] = context.args;
    if (name === undefined) {
      const commands = Object.entries(REGISTRY).map(([command, { summary }]) => ({ name: command, summary }));
      return printResult(context, listOf(commands), programHelp(REGISTRY).trimEnd());
    }
    const registration = Object.hasOwn(REGISTRY, name) ? REGISTRY[name] : undefined;
    if (!registration) throw noHelp(name, Object.keys(REGISTRY));
    const command = await registration.load();
    const actions = "actions" in command ? command.actions : {};
    if (actionName === undefined) {
      const { summary, description } = command;
      const own = "actions" in command ? { actions: Object.keys(actions) } : aboutAction(name, command);
      return printResult(context, { name, summary, description, ...own }, commandHelp(name, command).trimEnd());
    }
    const action = Object.hasOwn(actions, actionName) ? actions[actionName] : undefined;
    const whole = `${name} ${actionName}`;
    const known = Object.keys(actions).map((one) => `${name} ${one}`);
    if (!action) throw noHelp(whole, known);
    const { summary, description } = action;
    const about = { name: whole, summary, description, ...aboutAction(whole, action) };
    return printResult(context, about, actionHelp(whole, action).trimEnd());
  },
});

const aboutAction = (name: string, { usage, options = {}, examples = EXAMPLES[name] ?? [] }: Action): object => ({
  usage,
  flags: { ...options, ...GLOBAL_OPTIONS },
  examples,
});

function noHelp(name: string, known: readonly string[]): UsageError {
  const meant = closestWord(name, known);
  const list = "Run `rookery help` to see the commands.";
  return new UsageError(`There is no command "${name}".`, { hint: meant ? `Did you mean "${meant}"? ${list}` : list });
}
