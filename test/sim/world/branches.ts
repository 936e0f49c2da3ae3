/**
 * People who go back to an earlier answer through the program's own interface, at any moment and on any node. Each asking
 * is remembered, so that the auditor can look for what became of it.
 */
import type { AgentId, EntryId } from "../../../src/core/ids.ts";
import type { StoreReader } from "../../../src/core/store/store.ts";
import type { Random } from "../../kit/random.ts";
import { parsed } from "../audit/audit-view.ts";
import type { Subject } from "../subjects/subject.ts";
import type { EventLog } from "./event-log.ts";
import type { SimProcess } from "./process.ts";
import { tokensIn } from "./tokens.ts";

export interface BranchRecord {
  readonly agentId: string;
  readonly target: string;
  /** What the model is told of the branch that is left; unique. */
  readonly summary: string | undefined;
  /** Whether somebody was told that it happened. */
  done: boolean;
}

export interface BranchesWorld {
  readonly random: Random;
  readonly log: EventLog;
  readonly backend: { readonly reader: StoreReader };
  living(): readonly { readonly process: SimProcess; readonly subject: Subject | undefined }[];
}

export interface Branches {
  readonly records: readonly BranchRecord[];
  /** Picks an agent and an answer it gave in its current session, or the session's beginning. */
  ask(): Promise<void>;
}

export function makeBranches({ random, log, backend, living }: BranchesWorld): Branches {
  const records: BranchRecord[] = [];

  async function somewhere(): Promise<{ agentId: AgentId; target: EntryId } | undefined> {
    const agents = await backend.reader.agents({ limit: 1_000 });
    if (agents.length === 0) return undefined;
    const { id: agentId } = random.pick(agents);
    const lines = (await backend.reader.linesBack(agentId, { limit: 1_000 })).map(({ line }) => parsed(line));
    const marker = lines.findIndex(({ type }) => type === "start" || type === "reset");
    const session = lines.slice(0, marker + 1);
    const answers = session.filter(
      ({ type, role, content }) =>
        type === "start" ||
        type === "reset" ||
        (role === "assistant" && (content ?? []).some(({ text }) => tokensIn(text ?? "", "r").length > 0)),
    );
    const target = answers.length > 0 ? random.pick(answers).id : undefined;
    return target === undefined ? undefined : { agentId, target: target as EntryId };
  }

  return {
    records,
    async ask() {
      const place = await somewhere();
      const able = living().filter(({ process, subject }) => process.state === "up" && subject?.branch);
      if (!place || able.length === 0) return;
      const { process, subject } = random.pick(able);
      const summary = random.chance(0.5) ? `what was left, ${records.length + 1}` : undefined;
      const record: BranchRecord = { ...place, summary, done: false };
      records.push(record);
      log.write(process.name, `is asked to go back to ${place.target}`);
      process.enter(() => {
        subject?.branch?.(place.agentId, place.target, summary).then(
          () => {
            record.done = true;
          },
          (error: unknown) => log.write(process.name, `cannot go back: ${String(error)}`),
        );
      });
    },
  };
}
