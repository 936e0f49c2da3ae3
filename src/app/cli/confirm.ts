/** Questions with a yes or a no at the terminal. The answer is a choice and Enter. A letter answers nothing, and Enter alone means no. */
import { UsageError } from "../../core/errors.ts";
import type { CommandContext } from "./command.ts";
import { loadPrompts } from "./prompts.ts";

export async function askYesNo(message: string): Promise<boolean> {
  const { select } = await loadPrompts();
  const options = [
    { value: false, label: "No" },
    { value: true, label: "Yes" },
  ];
  return (await select({ message, options, initialValue: false })) === true;
}

/** Asks before something that cannot be undone. Without a terminal nothing is assumed: the flag must say yes. */
export async function confirmed(context: CommandContext, question: string, flag: string): Promise<boolean> {
  if (context.json || !context.stdin().isTTY)
    throw new UsageError("This needs your yes.", { hint: `Add ${flag}. Nothing was changed.` });
  return askYesNo(question);
}
