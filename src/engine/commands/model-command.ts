/** `/model`: alone it lists the models of this conversation; with a name it sets one. */
import type { ChatCommand } from "./chat-command.ts";
import { isResetWord, oneWord, reply } from "./words.ts";

const MAX_LISTED = 40;

export const modelCommand: ChatCommand = {
  name: "model",
  aliases: ["models"],
  usage: "[provider/model|default]",
  help: "the models this conversation may use, or the one it uses from now on",
  example: "/model anthropic/claude-sonnet-4-5",
  who: "own",
  inTurn: true,
  reads: oneWord,
  async run(name, { agent, parts: { models } }) {
    if (isResetWord(name)) {
      return { text: reply("Model: back to the default."), patch: { modelOverride: null, providerOverride: null } };
    }
    const described = await models?.describe(agent);
    if (name === "") {
      const using = described ? `${described.model}${described.why ? `, because ${described.why}` : ""}` : "n/a";
      const choices = described?.choices ?? [];
      const more = choices.length > MAX_LISTED ? [`… and ${choices.length - MAX_LISTED} more`] : [];
      const lines = [...choices.slice(0, MAX_LISTED).map((choice) => `- ${choice}`), ...more];
      return {
        text: [reply(`Model: ${using}.`), ...lines, "Set one with /model NAME, take it back with /model default."].join(
          "\n",
        ),
      };
    }
    const patch = { modelOverride: name, providerOverride: null };
    const state = { ...agent.state, modelOverride: name, providerOverride: undefined };
    const problem = await models?.problem({ ...agent, state }, patch);
    if (problem === undefined) return { text: reply(`Model: ${name}.`), patch };
    const isUnknown = problem.startsWith("There is no") && !problem.includes("Did you mean");
    const hint = isUnknown ? " /model lists the choices." : "";
    return { text: reply(`${problem}${hint} Nothing was changed.`) };
  },
};
