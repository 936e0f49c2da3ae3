/**
 * Text from the network marks the run that has read it, and everything that run makes (M32). The auditor follows the text from
 * outside: every page carries a mark, and marks are looked for in the bytes that models were sent.
 */
import type { Behalf } from "../../../src/core/people/behalf.ts";
import type { ModelCall } from "../world/model-call.ts";
import { tokensIn, webMarksIn } from "../world/tokens.ts";
import { callsOf, marksIn, type Readers, readersOf } from "./audit-people.ts";
import { broken, type View, type Violation } from "./audit-view.ts";

export function* untrusted(view: View): Iterable<Violation> {
  if (!view.executions.some(({ tool }) => tool === "sim_web")) return;
  const behind = readersOf(view);
  const hasRead = webReaders(behind);
  for (const of of view.listed) {
    for (const { runId, call } of callsOf(of, behind.calls)) {
      const run = of.runs.find(({ id }) => id === runId);
      if (run && hasRead(call) && !isMarked(run.body.behalf)) {
        yield broken("M32", `run ${runId} has read text from the network and has no mark`);
      }
    }
    for (const { seq, body, behalf } of of.messages) {
      const text = "text" in body ? (body.text ?? "") : "";
      const makers = marksIn(text).flatMap((mark) => behind.origin(mark) ?? []);
      if (makers.some(hasRead) && !isMarked(behalf)) {
        yield broken("M32", `message ${of.agent.id}/${seq} was made with text from the network and has no mark`);
      }
    }
  }
}

const isMarked = (behalf: Behalf | undefined): boolean =>
  behalf !== undefined && (behalf.untrusted === true || (behalf.through ?? []).length > 0);

/** Whether a model call was sent text from the network, or something that such a call made or said. */
function webReaders({ calls, origin }: Readers): (call: ModelCall) => boolean {
  const known = new Map<ModelCall, boolean>();
  const hasRead = (call: ModelCall): boolean => {
    const before = known.get(call);
    if (before !== undefined) return before;
    known.set(call, false);
    const sent = call.bytes.slice(1);
    const led = sent.flatMap((text) => [
      ...marksIn(text).flatMap((mark) => origin(mark) ?? []),
      ...tokensIn(text, "r").flatMap((mark) => calls.get(mark) ?? []),
    ]);
    const found = sent.some((text) => webMarksIn(text).length > 0) || led.some(hasRead);
    known.set(call, found);
    return found;
  };
  return hasRead;
}
