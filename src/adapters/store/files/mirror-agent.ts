/**
 * Brings one agent's four files up to date with the database: history appended, descriptor, state and pending rewritten if
 * they changed. Running it again after a crash at any call ends in the same files.
 */
import { hash } from "node:crypto";
import { AGENTS_DIR, agentPaths, DEDUPE_KEYS, dedupeKeysIn, jsonText, pendingText, stateText } from "./file-format.ts";
import { archiveHistory, type HistoryEnd } from "./history-archive.ts";
import { appendHistory, settleHistory } from "./history-file.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import type { MirrorNotice } from "./mirror-notice.ts";
import type { AgentRow, DedupeRow, MirrorSource } from "./mirror-source.ts";

/** What is cached of an agent's files, so that nothing is read or written without need. */
export interface KnownAgent {
  readonly history: HistoryEnd;
  readonly descriptor: string;
  readonly state: string;
  readonly pending: string;
  readonly dedupe: { readonly upTo: number; readonly keys: readonly DedupeRow[] };
}

export interface MirroringAgent {
  readonly source: MirrorSource;
  readonly files: MirrorFiles;
  readonly report: (notice: MirrorNotice) => void;
  readonly last: number;
  readonly closely: boolean;
  /** The size in bytes above which the history of an agent at rest is archived. */
  readonly archiveAbove: number;
  /** Called with every path that was written and may not be on the disk yet. */
  readonly wrote: (path: string) => void;
}

/** Undefined if the database has no such agent, or if its row cannot be written as files (which is reported). */
export function mirrorAgent(mirroring: MirroringAgent, no: number, known?: KnownAgent): KnownAgent | undefined {
  const { source, report } = mirroring;
  return source.consistently(() => {
    const agent = source.agent(no);
    if (!agent) return undefined;
    if (isRemoved(agent)) return unmirror(mirroring, agent);
    let texts: Texts;
    try {
      texts = textsOf(source, mirroring.files, agent, known);
    } catch (error) {
      // Nothing of this agent was written yet, and other agents must not wait for it.
      if (!(error instanceof SyntaxError)) throw error;
      report({ kind: "unwritable-agent", agent: agent.id, reason: error.message });
      return undefined;
    }
    return writeAgent(mirroring, agent, texts, known);
  });
}

/** A removed agent must not come back by a rebuild. Found by text, so that an agent with an unreadable mark stays. */
const isRemoved = ({ stopped }: AgentRow): boolean => stopped?.includes('"removed":true') ?? false;

function unmirror({ files, wrote }: MirroringAgent, { id }: AgentRow): undefined {
  const { dir } = agentPaths(id);
  if (files.list(dir).length === 0) return;
  files.remove(dir);
  wrote(AGENTS_DIR);
}

interface Texts {
  readonly descriptor: string;
  readonly state: string;
  readonly pending: string;
  readonly dedupe: KnownAgent["dedupe"];
}

/** The contents of the files that are written whole. Throws `SyntaxError` if a row does not hold JSON. */
export function textsOf(source: MirrorSource, files: MirrorFiles, agent: AgentRow, known?: KnownAgent): Texts {
  const run = agent.run_id === null ? undefined : source.openRun(agent.run_id);
  const seqs = run ? (JSON.parse(run.body) as { seqs?: readonly number[] }).seqs : undefined;
  const firstSeq = Math.min(agent.cursor + 1, ...(seqs ?? []));
  const dedupe = dedupeOf(source, agent, known?.dedupe, () => dedupeKeysIn(files.read(agentPaths(agent.id).pending)));
  return {
    descriptor: jsonText(JSON.parse(agent.descriptor)),
    state: stateText(agent),
    pending: pendingText({
      agent,
      run,
      messages: source.unsettled(agent.no, firstSeq),
      deliveries: source.openDeliveries(agent.no),
      approvals: source.openApprovals(agent.id),
      dedupe: dedupe.keys,
    }),
    dedupe,
  };
}

/**
 * The newest keys: those of new messages, after the cached ones or, without a cache, those in the file. Messages are pruned
 * long before their keys, so the file may have more keys than the inbox.
 */
function dedupeOf(
  source: MirrorSource,
  agent: AgentRow,
  known: KnownAgent["dedupe"] | undefined,
  inFile: () => readonly string[],
): KnownAgent["dedupe"] {
  const upTo = agent.next_seq - 1;
  if (known && known.upTo === upTo) return known;
  const fresh = source.dedupeKeys(agent.no, known?.upTo ?? 0, DEDUPE_KEYS);
  if (known) return { upTo, keys: [...known.keys, ...fresh].slice(-DEDUPE_KEYS) };
  const byKey = new Map(fresh.map((row) => [row[0], row]));
  for (const key of inFile()) {
    const row = byKey.has(key) ? undefined : source.dedupeKey(agent.no, key);
    if (row) byKey.set(key, row);
  }
  return { upTo, keys: [...byKey.values()].sort((a, b) => a[1] - b[1]).slice(-DEDUPE_KEYS) };
}

function writeAgent(mirroring: MirroringAgent, agent: AgentRow, texts: Texts, known?: KnownAgent): KnownAgent {
  const { files, source, wrote } = mirroring;
  const paths = agentPaths(agent.id);
  if (!known && files.list(paths.dir).length === 0) {
    files.makeDir(paths.dir);
    wrote(".");
    wrote(AGENTS_DIR);
    wrote(paths.dir);
  }
  // History before pending: after a crash a message is in both files rather than in neither, and a rebuild detects that.
  const before =
    known && files.size(paths.history) === known.history.size
      ? known.history
      : settleHistory(mirroring, paths.history, agent.no);
  const appended = appendHistory(files, source, paths.history, agent.no, before);
  if (appended.size !== before.size) wrote(paths.history);
  // The lines of an open run stay in the file that people and tools look into.
  const archiving = { files, report: mirroring.report, last: mirroring.last, above: mirroring.archiveAbove };
  const history = agent.run_id === null ? archiveHistory(archiving, paths.history, appended) : appended;
  const descriptor = replaceIfChanged(mirroring, paths.dir, paths.descriptor, texts.descriptor, known?.descriptor);
  const state = replaceIfChanged(mirroring, paths.dir, paths.state, texts.state, known?.state);
  const pending = replaceIfChanged(mirroring, paths.dir, paths.pending, texts.pending, known?.pending);
  return { history, descriptor, state, pending, dedupe: texts.dedupe };
}

/** Rewrites a file whose content differs from the cached digest, or else from the file. Returns the new digest. */
function replaceIfChanged(mirroring: MirroringAgent, dir: string, path: string, text: string, known?: string): string {
  const { files, wrote } = mirroring;
  const digest = hash("sha1", text, "base64");
  const same = known === undefined ? files.read(path)?.toString() === text : known === digest;
  if (!same) {
    files.replace(path, text);
    wrote(path);
    wrote(dir);
  }
  return digest;
}
