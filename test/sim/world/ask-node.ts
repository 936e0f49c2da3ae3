/**
 * Requests of people through the program's interface, at any time and to any node. A node that dies before it answers
 * never answers.
 */
import type { Random } from "../../kit/random.ts";
import type { Subject } from "../subjects/subject.ts";
import type { EventLog } from "./event-log.ts";
import type { SimProcess } from "./process.ts";
import type { ServerBackend } from "./sim-store.ts";

export interface AskDeps {
  readonly random: Random;
  readonly log: EventLog;
  readonly backend: ServerBackend;
  /** The nodes that are alive now. */
  living(): readonly { readonly process: SimProcess; readonly subject: Subject | undefined }[];
}

type Method = Exclude<keyof Subject, "drain">;

export interface Question<T> {
  /** For the log: what the node is asked to do. */
  readonly about: string;
  ask(subject: Required<Subject>): Promise<T>;
  onAnswer?(answer: T, process: SimProcess): void | Promise<void>;
  onError?(error: unknown, process: SimProcess): void;
}

/** Asks some node that is up and can do it. Returns false if there is none. */
export function askNode<T>({ random, log, living }: AskDeps, method: Method, question: Question<T>): boolean {
  const able = living().filter(({ process, subject }) => process.state === "up" && subject?.[method]);
  if (able.length === 0) return false;
  const { process, subject } = random.pick(able);
  log.write(process.name, `is asked to ${question.about}`);
  process.enter(() => {
    question.ask(subject as Required<Subject>).then(
      (answer) => question.onAnswer?.(answer, process),
      (error: unknown) => question.onError?.(error, process),
    );
  });
  return true;
}
