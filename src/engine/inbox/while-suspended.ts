/**
 * What a message does to a run that waits for a person (M31). A suspended run never blocks its conversation: a message that needs
 * the agent's turn ends the wait, commands to the engine are carried out at once, and silent messages wait for the run's end (M4).
 */

import type { RunId } from "../../core/ids.ts";
import { isLateYes, isSilent, type Message, saysNothing } from "../../core/message/message.ts";

export type WhileSuspended =
  /** Nothing to do. */
  | { readonly act: "wait" }
  /** A command that does not touch the run. */
  | { readonly act: "settle"; readonly message: Message; readonly reason: string }
  /** `decisions`: about its calls. `waitEnds`: calls without a decision are not made now. */
  | { readonly act: "resume"; readonly decisions: readonly Message[]; readonly waitEnds: boolean };

export function whileSuspended(waiting: readonly Message[], runId: RunId): WhileSuspended {
  const decisions = waiting.filter(({ body }) => body.kind === "permission" && body.runId === runId);
  const rest = waiting.filter((message) => !decisions.includes(message) && !isSilent(message.body));
  const command = rest.find((message) => commandReason(message) !== undefined);
  if (command) return { act: "settle", message: command, reason: commandReason(command) ?? "" };
  if (decisions.length === 0 && rest.length === 0) return { act: "wait" };
  return { act: "resume", decisions, waitEnds: rest.length > 0 };
}

/** Why a message needs neither a run nor the end of one; undefined if it does. */
function commandReason(message: Message): string | undefined {
  const { body } = message;
  switch (body.kind) {
    case "user":
      return saysNothing(message) ? "it says nothing" : undefined;
    case "permission":
      return isLateYes(body) ? undefined : "its run no longer waits for it";
    case "restore":
      return "context rebuilt";
    case "setting":
      return "settings changed";
    case "describe":
      return "description updated";
    case "subagents":
      return "answered about children";
    case "command":
      return "answered";
    default:
      return undefined;
  }
}
