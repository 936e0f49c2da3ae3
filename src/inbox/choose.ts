/**
 * Decides what an agent at rest does next with what waits: a pure function from the waiting messages to one action. Only
 * the owner decides, and only here and between steps, never at accept (M1).
 */
import { isSilent, type Message } from "../core/message.ts";

export type Choice =
  | { readonly act: "rest" }
  /** Goes first, whatever waited before it (M10). */
  | { readonly act: "reset"; readonly message: Message }
  /** Silent messages are recorded in a step of their own and wake nobody (M4). */
  | { readonly act: "record"; readonly messages: readonly Message[] }
  /** The run a stop speaks of has ended; the person is told how. */
  | { readonly act: "stop"; readonly message: Message }
  /** A command to the engine that needs no run. */
  | { readonly act: "settle"; readonly message: Message; readonly reason: string }
  | { readonly act: "run"; readonly messages: readonly Message[] };

/** `urgent` are the waiting messages that overtake; `waiting` the oldest ones, in order. */
export function choose(urgent: readonly Message[], waiting: readonly Message[]): Choice {
  const stop = urgent.find((message) => message.body.kind === "stop");
  if (stop) return { act: "stop", message: stop };
  const reset = urgent.find((message) => message.body.kind === "reset");
  if (reset) return { act: "reset", message: reset };
  const first = waiting[0];
  if (!first) return { act: "rest" };
  if (isSilent(first.body)) {
    const rest = waiting.findIndex((message) => !isSilent(message.body));
    return { act: "record", messages: rest === -1 ? waiting : waiting.slice(0, rest) };
  }
  switch (first.body.kind) {
    case "permission":
      return { act: "settle", message: first, reason: "the run it speaks of no longer waits for it" };
    case "restore":
      return { act: "settle", message: first, reason: "context rebuilt" };
    case "compact":
      return { act: "settle", message: first, reason: "nothing to compact" };
    case "reset":
      return { act: "reset", message: first };
    case "stop":
      return { act: "stop", message: first };
    default:
      return { act: "run", messages: [first] };
  }
}
