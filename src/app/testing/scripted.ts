/** A model for `createRookery` that answers from a script, offline and at once. */
import type { Model } from "../../core/ports/model.ts";
import { inTurn, modelResult, type Reply, type Script } from "./model.ts";

/** Answers with these replies in turn; the last one repeats. A function sees the request. The text is streamed word by word. */
export function scripted(...replies: readonly (Reply | Script)[]): Model {
  const next = inTurn(...replies);
  let n = 0;
  return {
    async call(request, signal, onEvent) {
      n += 1;
      const result = modelResult(await next({ request, signal, onEvent, n }), n);
      for (const block of result.content) {
        if (block.type === "text") for (const delta of block.text.split(/(?<= )/)) onEvent({ type: "text", delta });
      }
      return result;
    },
  };
}
