/**
 * What a message does to a run that waits for a person (M31). A suspended run never blocks its conversation: a message that needs
 * the agent's turn ends the wait, commands to the engine are carried out at once, and silent messages wait for the run's end (M4).
 */

import { isLateYes, isSilent, type Message, saysNothing } from "../../core/message/message.ts";
import type { RunRecord } from "../../core/run/run.ts";
import { restsUntil } from "./decide.ts";

export type WhileSuspended =
  /** Nothing to do. */
  | { readonly act: "wait" }
  /** A message rests after a failed try, and there is nothing else to do (M48). */
  | { readonly act: "retry"; readonly until: number }
  /** A command that does not touch the run. */
  | { readonly act: "settle"; readonly message: Message; readonly reason: string }
  /** `decisions`: about its calls. `waitEnds`: calls without a decision are not made now. */
  | { readonly act: "resume"; readonly decisions: readonly Message[]; readonly waitEnds: boolean };

type SuspendedRun = Pick<RunRecord, "id" | "body">;

export function whileSuspended(all: readonly Message[], run: SuspendedRun, now: number): WhileSuspended {
  const waiting = all.filter((message) => restsUntil(message) <= now);
  const decisions = waiting.filter((message) => isAbout(message, run));
  const rest = waiting.filter((message) => !decisions.includes(message) && !isSilent(message.body));
  const command = rest.find((message) => commandReason(message) !== undefined);
  if (command) return { act: "settle", message: command, reason: commandReason(command) ?? "" };
  if (decisions.length === 0 && rest.length === 0) {
    const resting = all.filter((message) => restsUntil(message) > now && !isSilent(message.body)).map(restsUntil);
    return resting.length === 0 ? { act: "wait" } : { act: "retry", until: Math.min(...resting) };
  }
  return { act: "resume", decisions, waitEnds: rest.length > 0 };
}

/** Whether one of the run's open calls waits for this answer. A call may wait for the question of an earlier run. */
function isAbout({ body }: Message, { id, body: { calls } }: SuspendedRun): boolean {
  if (body.kind !== "permission") return false;
  const open = calls.filter(({ state }) => state === "asked");
  if (body.approval !== undefined) return open.some(({ approval }) => approval === body.approval);
  return body.runId === id && open.some(({ callId }) => callId === body.callId);
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
