/**
 * What a check of `rookery doctor` is: it reads, changes nothing, and returns sentences with the command that helps. Checks are
 * independent: one that fails or hangs does not stop the others. A feature adds its own to `all-checks.ts`.
 */
import type { Config } from "../../../config/config-schema.ts";
import type { HomePaths } from "../../../config/paths.ts";
import type { Connector } from "../../../core/ports/connector.ts";
import type { RefusedKey } from "../../../core/refused-key.ts";
import type { StoreReader } from "../../../core/store/store.ts";

/** What checks work with. A part that could not be opened is absent, and the checks that need it are skipped. */
export interface DoctorFacts {
  readonly paths: HomePaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: number;
  readonly config?: Config;
  /** Why there is no configuration. */
  readonly configProblem?: string;
  readonly store?: StoreReader;
  /** Why there is no store. `problem` is absent if the home was never used. */
  readonly storeProblem?: string;
  /** Absent: no engine runs. */
  readonly engine?: DoctorEngine;
}

/** The parts of a running engine. */
interface DoctorEngine {
  readonly connectors: ReadonlyMap<string, Connector>;
  /** Agents that could not be restored, and why. */
  readonly degraded: ReadonlyMap<string, string>;
  /** Keys that model providers refused. */
  readonly refusedKeys?: readonly RefusedKey[];
}

export interface Finding {
  /** `problem`: something does not work or will not. `notice`: something you should know. */
  readonly level: "problem" | "notice";
  /** One sentence. */
  readonly text: string;
  /** What to do: a command, or a sentence. */
  readonly help: string;
  /** `--fix` removes it. */
  readonly fixable?: true;
}

/** What a check found, and a sentence for the case that it found nothing. */
export interface Checked {
  readonly fine: string;
  readonly findings?: readonly Finding[];
}

export type Need = "config" | "store" | "engine";

type With<Needs extends Need> = DoctorFacts & { readonly [Name in Needs]-?: NonNullable<DoctorFacts[Name]> };

export interface DoctorCheck<Needs extends Need = Need> {
  /** Stable, for programs. */
  readonly id: string;
  readonly needs?: readonly Needs[];
  check(facts: With<Needs>): Promise<Checked> | Checked;
  /** Repairs what it found fixable, deletes nothing, and returns a sentence for each thing it did. */
  fix?(facts: With<Needs>): Promise<readonly string[]> | readonly string[];
}

/** Infers what a check gets from what it needs. */
export const defineCheck = <Needs extends Need = never>(check: DoctorCheck<Needs>): DoctorCheck =>
  check as unknown as DoctorCheck;
