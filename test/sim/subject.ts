/**
 * What is put into the simulated world: a program that starts on ports and can be drained. The world makes one instance
 * per life of a node; a crash abandons it, and only `drain` ends it in peace.
 */
import type { Ports } from "../../src/core/ports.ts";

export interface Subject {
  /** Takes nothing new, ends what it has begun, gives its agents back. Resolves when the process may end. */
  drain(): Promise<void>;
}

export interface SubjectNode {
  /** The same over restarts; two living nodes never share one. */
  readonly name: string;
  readonly leaseMs: number;
}

/** Starts an instance, including the connectors in `ports.connectors`. May be called again after a crash at any point. */
export type StartSubject = (ports: Ports, node: SubjectNode) => Promise<Subject>;

/** What a scenario may ask of its subject beyond the main road. */
export type Feature = "tools" | "files" | "timeouts" | "compaction" | "silent-messages" | "commands";

export interface SubjectUnderTest {
  readonly name: string;
  readonly features: readonly Feature[];
  readonly start: StartSubject;
}
