/**
 * Makes the entry of a compaction of any kind and measures it. A proposal that does not shrink the context by a stated share
 * is rejected (L10).
 */
import type { CompactionKind, CompactionReason } from "../../../core/history/compaction-settings.ts";
import type { Entry, Usage } from "../../../core/history/entry.ts";
import type { AgentId, EntryId } from "../../../core/ids.ts";
import type { ModelMessage } from "../../../core/ports/model.ts";
import { compactedMessages, contextOf, modelMessage } from "../context.ts";
import { carriedAlong, carriedText, withoutCarried } from "./carried-along.ts";
import { chooseCut } from "./choose-cut.ts";
import { type CompactionDetails, compactionDetails, type Measure } from "./compaction-details.ts";
import { CHARS_PER_TOKEN, estimateMessages, estimateText } from "./estimate-tokens.ts";
import { applyMeasure, cutText, TRUNCATED_CHARS } from "./measures.ts";
import { type CompactionPlan, currentEntries, planOf, sizedEntries } from "./plan-compaction.ts";
import { harmless, NO_PRIOR_HISTORY, SPLIT_TURN } from "./summary-prompt.ts";

/** The entry without its place. */
type CompactionDraft = {
  readonly type: "compaction";
  readonly summary: string;
  readonly firstKeptEntryId: EntryId;
  readonly tokensBefore: number;
  readonly details: CompactionDetails;
  readonly timestamp: number;
};

/** A compaction that could be appended now. */
export interface CompactionProposal {
  readonly entry: CompactionDraft;
  /** Both by the same estimate, instructions and tools included. */
  readonly before: number;
  readonly after: number;
}

/** The context to compact, and its size. */
export interface CompactionInput {
  readonly agentId: AgentId;
  /** The path of the current session, oldest first. */
  readonly path: readonly Entry[];
  /** Tokens now, as counted; and the estimate of instructions and tools. */
  readonly tokens: number;
  readonly overhead: number;
  readonly at: number;
  readonly reason: CompactionReason;
  /** The run between whose steps it is appended. */
  readonly runId?: string;
}

/** A compaction must leave at most this share of the context. */
const PROGRESS_SHARE = 0.9;

/** After a summary failed the context must grow by this share of the emergency limit before the next one is tried. */
export const GROWN_SHARE = 0.05;

/** `limit`: a context that exceeds it cannot be sent, so any compaction that brings it below is progress. */
export function makesProgress({ before, after, entry }: CompactionProposal, limit = 0): boolean {
  if (after <= before * PROGRESS_SHARE) return true;
  return after < before && entry.tokensBefore >= limit && (entry.details.tokensAfter ?? limit) < limit;
}

/**
 * How much of the end to keep, by the estimate: as much as wanted, scaled to the provider's count; and at most a third of the
 * context, because a compaction must not keep everything.
 */
export function keepOf({ agentId, path, tokens, overhead }: CompactionInput, wanted: number): number {
  const all = sizedEntries(agentId, path).reduce((sum, one) => sum + one.tokens, 0);
  const scale = (all + overhead) / Math.max(1, tokens);
  return Math.floor(Math.min(wanted * scale, all / 3));
}

/** What a model wrote for a plan. */
export interface Summarised {
  readonly history?: string;
  readonly prefix?: string;
  readonly provider: string;
  readonly model: string;
  readonly usage?: Usage;
}

export function summaryProposal(
  input: CompactionInput,
  plan: CompactionPlan,
  { history, prefix, provider, model, usage }: Summarised,
  instructions?: string,
): CompactionProposal {
  const { agentId, at } = input;
  const covered = [...plan.history, ...plan.prefix].flatMap((entry) => modelMessage(agentId, entry));
  const carried = carriedAlong(covered, plan.previous?.details);
  const earlier = history ?? (plan.previous ? withoutCarried(plan.previous.summary) : NO_PRIOR_HISTORY);
  const said = prefix === undefined ? earlier : `${earlier.trim()}${SPLIT_TURN}${prefix.trim()}`;
  const request = requestText(plan);
  const summary = `${harmless(said)}${request}${carriedText(said, carried)}`;
  return proposal(input, "summary", summary, plan.firstKeptEntryId, {
    provider,
    model,
    timestamp: at,
    covered: plan.covered,
    split: prefix === undefined ? undefined : true,
    request: plan.request && [...plan.request.texts],
    requestRunId: plan.request?.runId,
    ...compact(carried),
    measures: [...plan.measures],
    instructions: instructions || undefined,
    usage,
  });
}

/**
 * Cuts long tool outputs, or leaves images out, in the whole context. Outputs are cut shorter if the last turn alone would
 * be larger than `target`: no other measure can divide it. Undefined if nothing would change.
 */
export function measureProposal(
  input: CompactionInput,
  kind: "truncate" | "images",
  target = Number.POSITIVE_INFINITY,
): CompactionProposal | undefined {
  const { path, at } = input;
  const { entries, previous } = currentEntries(path);
  const first = entries.find((entry) => entry.type !== "start" && (entry.type !== "reset" || entry.message));
  const through = entries.findLast((entry) => entry.type !== "start" && entry.type !== "reset")?.id as
    | EntryId
    | undefined;
  if (!first || through === undefined) return undefined;
  const details = previous ? compactionDetails(previous) : {};
  const measure: Measure = kind === "images" ? { kind, through } : { kind, chars: charsFor(input, target), through };
  const earlier = (details.measures ?? []).filter((one) => one.kind !== kind || isStricter(one, measure));
  const what = kind === "images" ? "Images" : "Long tool outputs";
  const note = `[${what} up to entry ${path.length} of this session's context are not shown in full, to save room.]`;
  const { usage: _usage, instructions: _instructions, covered: _covered, runId: _runId, ...kept } = details;
  const made = proposal(input, kind, withNote(previous?.summary ?? "", NOTES[kind], note), first.id as EntryId, {
    ...kept,
    timestamp: at,
    measures: [...earlier, measure],
  });
  return made.after < made.before ? made : undefined;
}

/** Outputs that were cut shorter before stay so. */
const isStricter = (one: Measure, other: Measure): boolean =>
  one.kind === "truncate" && other.kind === "truncate" && one.chars < other.chars;

/** How much of each tool output may stay, so that what cannot be divided is at most `target` tokens. */
function charsFor({ agentId, path, tokens, overhead }: CompactionInput, target: number): number {
  const [usual = 0, ...shorter] = TRUNCATED_CHARS;
  const sized = sizedEntries(agentId, path);
  const all = sized.reduce((sum, one) => sum + one.tokens, overhead);
  const last = sized.slice(chooseCut(sized, 1)?.index ?? 0).flatMap(({ entry }) => modelMessage(agentId, entry));
  // The target is counted as the provider counts, the messages are estimated.
  const room = (target * all) / Math.max(1, tokens) - overhead;
  const fits = (chars: number): boolean => {
    const measure = { kind: "truncate", chars, through: "" as EntryId } as const;
    return estimateMessages(last.map((message) => applyMeasure(message, measure))) <= room;
  };
  return fits(usual) ? usual : (shorter.find(fits) ?? shorter.at(-1) ?? usual);
}

/**
 * For emergencies: replaces the oldest turns by a note, until about `keepTokens` are left. Undefined if nothing can be left
 * out.
 */
export function pruneProposal(input: CompactionInput, keepTokens: number): CompactionProposal | undefined {
  const { agentId, path, at } = input;
  const sized = sizedEntries(agentId, path);
  // What the summary so far takes is not left for messages. One that takes more than half is cut.
  const { previous } = currentEntries(path);
  const earlier = cutText(withoutCarried(previous?.summary ?? ""), Math.max(1, keepTokens) * (CHARS_PER_TOKEN / 2));
  const left = keepTokens - estimateText(earlier);
  const cut = chooseCut(sized, Math.max(1, Math.min(left, keepOf(input, left) * 2)));
  if (!cut) return undefined;
  const plan = planOf(path, sized, cut, keepTokens);
  const covered = [...plan.history, ...plan.prefix].flatMap((entry) => modelMessage(agentId, entry));
  const carried = carriedAlong(covered, plan.previous?.details);
  const split = cut.turnStart === undefined ? "" : ", the last turn among them only in part";
  const pruned = (plan.previous?.details.pruned ?? 0) + plan.covered.messages;
  const note = `[${pruned} older messages were left out without a summary because the context was too large${split}.]`;
  const said = withNote(earlier, NOTES.prune, note);
  const request = requestText(plan);
  const made = proposal(input, "prune", `${said}${request}${carriedText(said, carried)}`, plan.firstKeptEntryId, {
    timestamp: at,
    pruned,
    covered: plan.covered,
    split: cut.turnStart === undefined ? undefined : true,
    request: plan.request && [...plan.request.texts],
    requestRunId: plan.request?.runId,
    ...compact(carried),
    measures: [...plan.measures],
  });
  return made.after < made.before ? made : undefined;
}

function proposal(
  { agentId, path, tokens, overhead, at, reason, runId }: CompactionInput,
  kind: CompactionKind,
  summary: string,
  firstKeptEntryId: EntryId,
  details: CompactionDetails,
): CompactionProposal {
  const now: readonly ModelMessage[] = contextOf(agentId, path).messages;
  const then = compactedMessages(agentId, path, { summary, firstKeptEntryId, details });
  const before = estimateMessages(now) + overhead;
  const keptTokens = estimateMessages(then.slice(1));
  const after = estimateMessages(then) + overhead;
  const measured: CompactionDetails = { ...details };
  if (!measured.measures?.length) delete measured.measures;
  return {
    before,
    after,
    entry: {
      type: "compaction",
      summary,
      firstKeptEntryId,
      tokensBefore: tokens,
      details: {
        ...measured,
        kind,
        reason,
        runId,
        // The provider's count is more exact: the estimate only gives the ratio.
        tokensAfter: Math.round(tokens * (after / Math.max(1, before))),
        kept: { messages: then.length - 1, tokens: keptTokens },
      },
      timestamp: at,
    },
  };
}

const requestText = ({ request }: CompactionPlan): string =>
  request ? `\n\n<original-request>\n${harmless(request.texts.join("\n\n"))}\n</original-request>` : "";

/** Finds the earlier note of a kind, so that the next one replaces it. */
const NOTES = {
  truncate: /\[Long tool outputs up to entry \d{1,15} [^\][]{0,300}\]/gu,
  images: /\[Images up to entry \d{1,15} [^\][]{0,300}\]/gu,
  prune: /\[\d{1,15} older messages were left out [^\][]{0,300}\]/gu,
} as const;

const withNote = (summary: string, earlier: RegExp, note: string): string =>
  `${summary.replace(earlier, "").trim()}\n\n${note}`.trim();

/** Without the lists that are empty. */
const compact = (carried: ReturnType<typeof carriedAlong>): Partial<CompactionDetails> =>
  Object.fromEntries(Object.entries(carried).flatMap(([key, list]) => (list.length > 0 ? [[key, [...list]]] : [])));
