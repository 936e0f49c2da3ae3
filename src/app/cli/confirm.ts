/** Asks a yes or no before something that cannot be undone. Without a terminal nothing is assumed: the flag must say yes. */
import { UsageError } from "../../core/errors.ts";
import type { CommandContext } from "./command.ts";

export async function confirmed(context: CommandContext, question: string, flag: string): Promise<boolean> {
  if (context.json || !context.stdin().isTTY)
    throw new UsageError("This needs your yes.", { hint: `Add ${flag}. Nothing was changed.` });
  const { confirm } = await import("@clack/prompts");
  return (await confirm({ message: question, initialValue: false })) === true;
}
