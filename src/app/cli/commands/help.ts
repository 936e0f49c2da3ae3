/** `rookery help [command [action]]`: lists the commands, or describes one. */
import { closestWord } from "../../../config/closest-word.ts";
import { UsageError } from "../../../core/errors.ts";
import { defineAction } from "../command.ts";
import { actionHelp, commandHelp, programHelp } from "../help-text.ts";
import { REGISTRY } from "../registry.ts";

export const helpCommand = defineAction({
  summary: "show help for the program or a command",
  usage: "[command [action]]",
  arguments: { min: 0, max: 2 },
  async run({ args: [name, actionName], stdout, json }) {
    if (name === undefined) {
      const commands = Object.entries(REGISTRY).map(([command, { summary }]) => ({ name: command, summary }));
      stdout.write(json ? `${JSON.stringify({ commands })}\n` : programHelp(REGISTRY));
      return undefined;
    }
    const registration = Object.hasOwn(REGISTRY, name) ? REGISTRY[name] : undefined;
    if (!registration) throw noHelp(name, Object.keys(REGISTRY));
    const command = await registration.load();
    if (actionName === undefined) stdout.write(commandHelp(name, command));
    else {
      const actions = "actions" in command ? command.actions : {};
      const action = Object.hasOwn(actions, actionName) ? actions[actionName] : undefined;
      if (!action)
        throw noHelp(
          `${name} ${actionName}`,
          Object.keys(actions).map((known) => `${name} ${known}`),
        );
      stdout.write(actionHelp(`${name} ${actionName}`, action));
    }
    return undefined;
  },
});

function noHelp(name: string, known: readonly string[]): UsageError {
  const meant = closestWord(name, known);
  const list = "Run `rookery help` to see the commands.";
  return new UsageError(`There is no command "${name}".`, { hint: meant ? `Did you mean "${meant}"? ${list}` : list });
}
