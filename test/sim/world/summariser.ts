/**
 * The model when it is asked for a summary: it writes a good one, an empty one, one that is too long, continues the
 * conversation instead, is slow, rejects the prompt as too long, or fails. It has its own record; its texts have no marks.
 */
import type { ModelError, ModelRequest, ModelResult } from "../../../src/core/ports/model.ts";
import type { Random } from "../../kit/random.ts";
import type { EventLog } from "./event-log.ts";
import type { SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

export const MANNERS = ["good", "empty", "continues", "bloats", "slow", "overflow", "transient", "request"] as const;
export type Manner = (typeof MANNERS)[number];

/** How large contexts may be, and which kinds of summaries the model writes, at random. */
export interface SimContext {
  readonly window: number;
  readonly manners: readonly Manner[];
  readonly flush: boolean;
  /** The program does not know the window and assumes the default size. */
  readonly unknown?: boolean;
  /** Each entry fits the window, so no run may end because its context is too large (L10). */
  readonly fits?: boolean;
}

export interface SummaryCall {
  readonly n: number;
  readonly process: string;
  readonly startedAt: number;
  readonly manner: Manner;
  readonly sessionId: string;
  /** When the program had its answer or stopped it; undefined if it never did. */
  endedAt?: number;
}

export interface Summariser {
  readonly summaries: readonly SummaryCall[];
  call(process: SimProcess, request: ModelRequest, signal: AbortSignal): Promise<ModelResult>;
}

export const isSummaryRequest = ({ system }: Pick<ModelRequest, "system">): boolean =>
  system.startsWith("You summarise conversations");

const ERRORS: Partial<Record<Manner, ModelError>> = {
  overflow: { class: "overflow", message: "the prompt is too long" },
  transient: { class: "transient", message: "overloaded" },
  request: { class: "request", message: "no provider would accept this" },
};

export function makeSummariser(
  { scheduler, random, log }: { scheduler: Scheduler; random: Random; log: EventLog },
  manners: readonly Manner[],
): Summariser {
  const summaries: SummaryCall[] = [];
  return {
    summaries,
    call: (process, request, signal) =>
      process.call<ModelResult>("model", "summary", (answer) => {
        const manner = random.pick(manners);
        const n = summaries.length + 1;
        const { sessionId } = request;
        const summary: SummaryCall = { n, process: process.name, startedAt: scheduler.time, manner, sessionId };
        summaries.push(summary);
        log.write(process.name, `summary ${n} ${manner}`);
        let open = true;
        const finish = (result: ModelResult): void => {
          if (!open) return;
          open = false;
          summary.endedAt ??= scheduler.time;
          answer({ value: result });
        };
        const text = textOf(manner, n, request);
        const error = ERRORS[manner];
        const ms = manner === "slow" ? random.int(3_000, 9_000) : random.int(100, 900);
        scheduler.after(ms, () => finish(error ? { ...saying(""), stopReason: "error", error } : saying(text)));
        const abort = (): void => {
          if (open) summary.endedAt = scheduler.time;
          const stopped = { class: "aborted", message: "aborted" } as const;
          scheduler.after(1, () => finish({ ...saying(""), stopReason: "aborted", error: stopped }));
        };
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
      }),
  };
}

function textOf(manner: Manner, n: number, request: ModelRequest): string {
  const sections = `## Goal\nsummary ${n}\n\n## Progress\n- some\n\n## Original Request\n- see below\n\n## Early Progress\n- some`;
  switch (manner) {
    case "empty":
      return "  ";
    case "continues":
      return "Certainly! I shall do that next.";
    case "bloats":
      return `${sections}\n${"and so on ".repeat(JSON.stringify(request.messages).length / 5)}`;
    default:
      return sections;
  }
}

const saying = (text: string): ModelResult => ({
  content: text === "" ? [] : [{ type: "text", text }],
  stopReason: "stop",
  api: "sim",
  provider: "sim",
  model: "sim-1",
  usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 },
});
