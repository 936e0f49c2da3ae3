/** The thread of the search index. A message about commits wakes it; a search is answered in between. It says when it has no more to do. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { errorText, InvariantError } from "../../../core/errors.ts";
import type { SearchRequest, SearchTraces } from "../../../core/search/search-index.ts";
import type { ThreadAnswer } from "../../system/thread.ts";
import { type HomeIndex, type HomeIndexOptions, homeIndex } from "./home-index.ts";

export type SearchQuestion =
  | { readonly type: "search"; readonly request: SearchRequest }
  | { readonly type: "forget"; readonly traces: SearchTraces }
  | { readonly type: "rebuild" | "state" | "stop" };
export interface SearchNudge {
  readonly type: "nudge";
}
type ToSearch = SearchNudge | (SearchQuestion & { readonly id: number });

/** `idle`: the index is complete. `trouble`: it cannot be written now. */
export type SearchNotice = { readonly type: "idle" } | { readonly type: "trouble"; readonly error: string };
type FromSearch = ThreadAnswer | SearchNotice;

function serve(port: MessagePort, options: HomeIndexOptions): void {
  let index: HomeIndex | undefined;
  let working = false;
  let stopped = false;
  const opened = (): HomeIndex => {
    index ??= homeIndex(options);
    return index;
  };
  const send = (message: FromSearch): void => port.postMessage(message);
  const work = (): void => {
    if (working || stopped) return;
    try {
      if (!opened().step()) {
        send({ type: "idle" });
        return;
      }
    } catch (error) {
      send({ type: "trouble", error: errorText(error) });
      return;
    }
    working = true;
    setImmediate(() => {
      working = false;
      work();
    });
  };
  const answer = async (message: SearchQuestion): Promise<unknown> => {
    switch (message.type) {
      case "search":
        return opened().search(message.request);
      case "rebuild":
        return opened().rebuild();
      case "forget":
        return opened().forget(message.traces);
      case "state":
        return opened().state();
      case "stop":
        stopped = true;
        return index?.close();
    }
  };
  port.on("message", (message: ToSearch) => {
    if (message.type === "nudge") return work();
    const { id } = message;
    answer(message)
      .then(
        (value) => send({ type: "done", id, value }),
        (error) => send({ type: "done", id, error: { text: errorText(error) } }),
      )
      .finally(() => {
        if (message.type === "stop") port.close();
        // Between searches it continues to index. After other messages it does not: what is being forgotten may still be in the store.
        else if (message.type === "search") setImmediate(work);
      });
  });
}

if (!parentPort) throw new InvariantError("The search index's thread was started as a program.");
serve(parentPort, workerData as HomeIndexOptions);
