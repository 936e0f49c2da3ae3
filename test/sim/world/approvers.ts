/**
 * People who answer the questions that the program lists, at any time, on any node, and sometimes on two surfaces at once. Some
 * questions they never answer. Every answer is recorded outside of the program, so that the auditor can compare (L13, M31).
 */
import type { ChangeId } from "../../../src/core/ids.ts";
import type { ApprovalId } from "../../../src/core/rights/approval.ts";
import type { Person } from "../subjects/subject.ts";
import { type AskDeps, askNode } from "./ask-node.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimFiles } from "./sim-files.ts";

export interface AnswerRecord {
  readonly id: string;
  readonly approve: boolean;
  /** When the person answered. */
  readonly at: number;
  /** Whether the program confirmed it; undefined if the node died before, or the outcome was lost. */
  confirmed: boolean | undefined;
}

/** A content of the file that every question names, from this time on. */
export interface Watched {
  readonly at: number;
  readonly content: string;
}

export interface Approvers {
  readonly answers: readonly AnswerRecord[];
  readonly watched: readonly Watched[];
  start(): void;
  /** Changes the file that every question names. */
  change(): void;
}

export interface ApproverDeps extends AskDeps {
  readonly scheduler: Scheduler;
  readonly files: Pick<SimFiles, "put">;
  readonly people: readonly Person[];
  /** They answer only when the run no longer waits. */
  readonly late?: boolean;
  wall(): number;
}

export const WATCHED_FILE = "watched";
/** The first person of the workload is the owner: nothing is asked about their calls. */
export const OWNER_USER = "u1";
const LOOK_MS = 700;

export function makeApprovers(deps: ApproverDeps): Approvers {
  const { random, scheduler, backend, files } = deps;
  const answers: AnswerRecord[] = [];
  const watched: Watched[] = [];
  const put = (content: string): void => {
    files.put(WATCHED_FILE, content);
    watched.push({ at: scheduler.time, content });
  };
  const answer = (id: ApprovalId, approve: boolean): void => {
    const record: AnswerRecord = { id, approve, at: scheduler.time, confirmed: undefined };
    const asked = askNode(deps, "decide", {
      about: `say ${approve ? "yes" : "no"} to ${id}`,
      ask: (subject) => subject.decide(id, approve),
      onAnswer(confirmed) {
        record.confirmed = confirmed;
      },
      onError() {},
    });
    if (asked) answers.push(record);
  };
  const look = async (): Promise<void> => {
    for (const { id, runId } of await backend.reader.approvals({ limit: 100, states: ["pending"] })) {
      // The same ones are never answered.
      if (id.charCodeAt(0) % 5 === 0 || !random.chance(0.35)) continue;
      if (deps.late && (await backend.reader.run(runId))?.body.suspended) continue;
      const approve = random.chance(0.7);
      answer(id, approve);
      if (random.chance(0.3)) answer(id, !approve);
    }
    scheduler.after(random.int(LOOK_MS / 2, 3 * LOOK_MS), () => void look());
  };
  return {
    answers,
    watched,
    change: () => put(`version ${watched.length + 1}`),
    start() {
      put("version 1");
      for (const { channel, user } of deps.people) if (user !== OWNER_USER) introduce(deps, channel, user);
      void look();
    },
  };
}

/** Everyone but the owner is asked before the risky tool is used. */
function introduce({ backend, wall }: ApproverDeps, channel: string, user: string): void {
  const id = `${channel}-${user}`.toLowerCase();
  const person = { id, role: "guest", accounts: [`${channel}:${user}`], grants: [{ ask: "sim_risky" }] } as const;
  const at = wall();
  const op = { op: "person.put", person: { ...person, createdAt: at, createdBy: "owner" } } as const;
  backend.apply([{ id: `introduces-${id}` as ChangeId, site: "world.person", at, ops: [op] }]);
}
