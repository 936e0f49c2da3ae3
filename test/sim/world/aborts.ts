/**
 * People who abort runs. Each request is recorded with the run's state at that time and the answer, so that the auditor
 * can compare them (M9).
 */
import type { RunId } from "../../../src/core/ids.ts";
import { type AskDeps, askNode } from "./ask-node.ts";

export interface AbortRecord {
  readonly runId: string;
  /** Whether the run had ended at the time of the request. */
  readonly endedBefore: boolean;
  /** The answer; "unknown" if the store's answer was lost, undefined if the node died before it answered. */
  answer: boolean | "unknown" | undefined;
  /** Whether, at the time of a "no", the run had ended, was already marked as aborted, or never existed. */
  overByThen: boolean;
}

export interface Aborts {
  readonly records: readonly AbortRecord[];
  /** Picks a run, mostly an open one, and asks some node to end it. */
  ask(): Promise<void>;
}

export function makeAborts(deps: AskDeps): Aborts {
  const { log, backend } = deps;
  const records: AbortRecord[] = [];
  return {
    records,
    async ask() {
      const runId = await pickRun(deps);
      if (runId === undefined) return;
      const before = await backend.reader.run(runId);
      const endedBefore = before?.state !== "open";
      const record: AbortRecord = { runId, endedBefore, answer: undefined, overByThen: false };
      const asked = askNode(deps, "abort", {
        about: `end run ${runId}`,
        ask: (subject) => subject.abort(runId),
        async onAnswer(answer, process) {
          const now = await backend.reader.run(runId);
          record.answer = answer;
          record.overByThen = now?.state !== "open" || now.abort !== undefined;
          log.write(process.name, `reports run ${runId}: ${answer ? "it will end" : "it is over"}`);
        },
        onError() {
          record.answer = "unknown";
        },
      });
      if (asked) records.push(record);
    },
  };
}

async function pickRun({ random, backend: { reader } }: AskDeps): Promise<RunId | undefined> {
  if (random.chance(0.05)) return "no-such-run" as RunId;
  const agents = await reader.agents({ limit: 1_000 });
  const open = agents.flatMap(({ runId }) => runId ?? []);
  if (open.length > 0 && random.chance(0.9)) return random.pick(open);
  if (agents.length === 0) return undefined;
  return (await reader.runs(random.pick(agents).id, { limit: 1 }))[0]?.id;
}
