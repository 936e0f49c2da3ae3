/** `rookery config completion`: the completion script of a shell, and the words that the scripts ask for. */
import { UsageError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { defineAction } from "../command.ts";
import { COMPLETION_SCRIPTS, SHELLS } from "../completion-scripts.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";

export const completionAction = defineAction({
  summary: "print the completion script of your shell",
  usage: "<shell> [word …]",
  description:
    'It completes commands, flags, agents, jobs, runs, people and models. bash: add eval "$(rookery config completion bash)" to ~/.bashrc. zsh: the same with zsh in ~/.zshrc. fish: rookery config completion fish > ~/.config/fish/completions/rookery.fish. The scripts call `rookery config completion words`.',
  arguments: { min: 1, max: 1_000 },
  examples: ["rookery config completion bash", "rookery config completion fish | source"],
  async run(context) {
    const [shell, ...words] = context.args;
    if (shell === "words") {
      const { completeWords } = await import("../complete-words.ts");
      const { REGISTRY } = await import("../registry.ts");
      const found = await completeWords(words, REGISTRY, context);
      const lines = found.map(({ word, about }) => (about ? `${word}\t${oneLine(about, 80)}` : word));
      return lines.length === 0 && !context.json ? undefined : printResult(context, listOf(found), lines.join("\n"));
    }
    const known = SHELLS.find((one) => one === shell);
    if (!known || words.length > 0) throw new UsageError(`rookery config completion takes ${SHELLS.join(", ")}.`);
    return printResult(
      context,
      { shell: known, script: COMPLETION_SCRIPTS[known] },
      COMPLETION_SCRIPTS[known].trimEnd(),
    );
  },
});
