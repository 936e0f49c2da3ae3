/**
 * People who end runs through the program's own interface, at any moment and on any node. Each asking is remembered with
 * what was the case then and what was answered, so that the auditor can hold the answer against it (M9).
 */
import type { RunId } from "../../../src/core/ids.ts";
import type { StoreReader } from "../../../src/core/store/store.ts";
import type { Random } from "../../kit/random.ts";
import type { Subject } from "../subjects/subject.ts";
import type { EventLog } from "./event-log.ts";
import type { SimProcess } from "./process.ts";

export interface AbortRecord {
  readonly runId: string;
  /** Whether the run had ended when it was asked for. */
  readonly endedBefore: boolean;
  /** What was answered; "unknown" where the store's answer was lost, undefined where nobody was left to answer. */
  answer: boolean | "unknown" | undefined;
  /** Whether, when a "no" was answered, the run had ended, bore a mark already, or was never there. */
  overByThen: boolean;
}

export interface AbortsWorld {
  readonly random: Random;
  readonly log: EventLog;
  readonly backend: { readonly reader: StoreReader };
  /** The nodes that live now. */
  living(): readonly { readonly process: SimProcess; readonly subject: Subject | undefined }[];
}

export interface Aborts {
  readonly records: readonly AbortRecord[];
  /** Picks a run, mostly one that is open, and asks some node to end it. */
  ask(): Promise<void>;
}

export function makeAborts({ random, log, backend, living }: AbortsWorld): Aborts {
  const records: AbortRecord[] = [];

  async function someRun(): Promise<RunId | undefined> {
    if (random.chance(0.05)) return "nobody-knows-it" as RunId;
    const { reader } = backend;
    const agents = await reader.agents({ limit: 1_000 });
    const open = agents.flatMap(({ runId }) => runId ?? []);
    if (open.length > 0 && random.chance(0.9)) return random.pick(open);
    if (agents.length === 0) return undefined;
    return (await reader.runs(random.pick(agents).id, { limit: 1 }))[0]?.id;
  }

  return {
    records,
    async ask() {
      const runId = await someRun();
      const able = living().filter(({ process, subject }) => process.state === "up" && subject?.abort);
      if (runId === undefined || able.length === 0) return;
      const { process, subject } = random.pick(able);
      const before = await backend.reader.run(runId);
      const record: AbortRecord = {
        runId,
        endedBefore: before?.state !== "open",
        answer: undefined,
        overByThen: false,
      };
      records.push(record);
      log.write(process.name, `is asked to end run ${runId}`);
      process.enter(() => {
        subject?.abort?.(runId).then(
          async (answer) => {
            const now = await backend.reader.run(runId);
            record.answer = answer;
            record.overByThen = now?.state !== "open" || now.abort !== undefined;
            log.write(process.name, `says of run ${runId}: ${answer ? "it will end" : "it is over"}`);
          },
          () => {
            record.answer = "unknown";
          },
        );
      });
    },
  };
}
