/**
 * Removes what is old: rows that have ended, by the ages of the configuration or by a given one, and files that nothing needs. The engine
 * does the first every hour by itself; a person asks for more. Open work stays at any age, and history is never removed.
 */
import type { Config } from "../../../config/config-schema.ts";
import type { HomePaths } from "../../../config/paths.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Prunable } from "../../../core/store/change.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import { agesOf, pruneRound, type RetentionLimits } from "../../../engine/agents/retention.ts";
import { retentionLimits } from "../../node/engine-options.ts";
import { findOldFiles, removeOldFiles } from "./old-files.ts";

interface PruneDeps {
  readonly ports: Ports;
  readonly agents: AgentSystem;
  readonly paths: HomePaths;
  readonly config: Config;
}

interface PruneOptions {
  /** Everything older than this goes, instead of what the configuration says. */
  readonly days?: number;
  /** Only say what would be removed. */
  readonly dryRun?: boolean;
  /** Give the space back afterwards. */
  readonly compact?: boolean;
}

interface PrunedPart {
  readonly what: string;
  readonly count: number;
  /** Of files. */
  readonly bytes?: number;
  /** How old it must be, in days. */
  readonly olderThanDays: number;
}

export interface PruneReport {
  readonly items: readonly PrunedPart[];
  readonly removed: boolean;
  readonly compacted: boolean;
}

const DAY_MS = 24 * 3600_000;
/** Of files, unless a number of days is given. */
const FILE_DAYS = 30;

const WORDS: Readonly<Record<Prunable, string>> = {
  messages: "settled messages",
  deliveries: "ended deliveries",
  runs: "details of ended runs",
  changes: "entries of the change log",
  slots: "past due times of jobs",
  audit: "rows of the audit log",
  approvals: "ended questions",
  questions: "questions that nobody answered",
  dedupe: "expired keys of messages",
  requests: "expired keys of requests",
};

export async function prune(
  deps: PruneDeps,
  { days, dryRun = false, compact = false }: PruneOptions,
): Promise<PruneReport> {
  const { ports, agents, config } = deps;
  const now = ports.clock.now();
  const limits = days === undefined ? retentionLimits(config) : allOf(days * DAY_MS, retentionLimits(config));
  const rows = await rowsOf(ports, limits, now);
  const fileDays = days ?? FILE_DAYS;
  const files = await findOldFiles({ ...deps, store: ports.store }, { before: now - fileDays * DAY_MS, now });
  const items = [...rows, ...byKind(files, fileDays)];
  if (dryRun) return { items, removed: false, compacted: false };
  await pruneRound(ports, limits, async () => {});
  await agents.files?.sweep();
  await removeOldFiles(files);
  if (compact) await ports.store.eraser?.compact();
  return { items, removed: true, compacted: compact && ports.store.eraser !== undefined };
}

/** The log of changes and the audit log keep their own age: others read them, and a short one would take what must be shown. */
const allOf = (ms: number, { changesMs, auditMs }: RetentionLimits): RetentionLimits => ({
  ...{ messagesMs: ms, deliveriesMs: ms, runsMs: ms },
  ...{ changesMs: Math.max(ms, changesMs), auditMs: Math.max(ms, auditMs) },
});

async function rowsOf({ store }: Ports, limits: RetentionLimits, now: number): Promise<readonly PrunedPart[]> {
  const parts: PrunedPart[] = [];
  for (const [what, age] of agesOf(limits)) {
    const count = (await store.eraser?.prunable(what, now - age)) ?? 0;
    if (count > 0) parts.push({ what: WORDS[what], count, olderThanDays: Math.round((age / DAY_MS) * 10) / 10 });
  }
  return parts;
}

function byKind(files: Awaited<ReturnType<typeof findOldFiles>>, olderThanDays: number): readonly PrunedPart[] {
  const kinds = new Map<string, { count: number; bytes: number }>();
  for (const { what, bytes } of files) {
    const sum = kinds.get(what) ?? { count: 0, bytes: 0 };
    kinds.set(what, { count: sum.count + 1, bytes: sum.bytes + bytes });
  }
  return [...kinds].map(([what, sum]) => ({ what, ...sum, olderThanDays }));
}
