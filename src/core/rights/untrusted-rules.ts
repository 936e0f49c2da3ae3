/**
 * What needs a question while text that the run's person did not write is in context: it may be that text that asks for it (M32).
 * Answers to the run's own person, reading, writing own files and starting children are not among it: what they make carries
 * the mark. A grant with `when: "untrusted"` is the way to allow it beforehand.
 */
import type { Effect } from "./decide.ts";

export const needsQuestion = ({ rights, target }: Effect): boolean =>
  rights.includes("exec") ||
  rights.includes("schedule") ||
  (target !== undefined && (rights.includes("send") || rights.includes("network")));

export const UNTRUSTED_REASON = "text from someone else or from the network is in its context";
