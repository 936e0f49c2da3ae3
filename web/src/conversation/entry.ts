/** Entries of a history as the page shows them: those on the way from the first one to the newest, with results beside their calls. */
import { withoutIds } from "../../../src/client-browser.ts";

export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly data?: string;
  readonly mimeType?: string;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

export interface Entry {
  readonly type: string;
  readonly id: string;
  readonly parentId?: string | null;
  readonly role?: "user" | "assistant" | "tool";
  readonly content?: readonly Block[];
  readonly timestamp?: number | string;
  readonly runId?: string;
  readonly seqs?: readonly number[];
  readonly model?: string;
  readonly provider?: string;
  readonly usage?: { readonly totalTokens: number; readonly cost?: { readonly total: number } };
  readonly stopReason?: string;
  readonly errorMessage?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly isError?: boolean;
  readonly hidden?: boolean;
  readonly summary?: string;
  readonly message?: string;
  readonly untrusted?: { readonly from: string };
}

export interface Placed {
  readonly position: number;
  readonly entry: Entry;
}

const OPENS_SESSION = ["session", "start", "reset"];

/** Oldest first. `hidden`: how many entries of other branches are left out. */
export function onPath(
  entries: readonly Placed[],
  leaf: string | undefined,
): { readonly path: readonly Placed[]; readonly hidden: number } {
  const ids = new Set(entries.map(({ entry }) => entry.id));
  if (leaf === undefined || !ids.has(leaf)) return { path: entries, hidden: 0 };
  const path: Placed[] = [];
  let wanted: string | null | undefined = leaf;
  for (const placed of entries.toReversed()) {
    const { entry } = placed;
    // An earlier session has no link to the next one: all of its last branch is shown.
    if (wanted === null || wanted === undefined) wanted = entry.id;
    if (entry.id !== wanted) continue;
    path.push(placed);
    wanted = OPENS_SESSION.includes(entry.type) ? null : (entry.parentId ?? null);
  }
  return { path: path.reverse(), hidden: entries.length - path.length };
}

export const textOf = ({ content = [] }: Entry): string =>
  content.flatMap(({ type, text }) => (type === "text" && text !== undefined ? [text] : [])).join("\n\n");

export const thinkingOf = ({ content = [] }: Entry): string =>
  content.flatMap(({ type, thinking }) => (type === "thinking" && thinking ? [thinking] : [])).join("\n\n");

export const callsOf = ({ content = [] }: Entry): readonly Block[] => content.filter(({ type }) => type === "toolCall");

/** The results of calls, by the id of the call. */
export const resultsOf = (entries: readonly Placed[]): ReadonlyMap<string, Entry> =>
  new Map(
    entries.flatMap(({ entry }) =>
      entry.role === "tool" && entry.toolCallId !== undefined ? [[entry.toolCallId, entry]] : [],
    ),
  );

export const timeOf = ({ timestamp }: Entry): number | undefined =>
  typeof timestamp === "number" ? timestamp : timestamp === undefined ? undefined : Date.parse(timestamp);

/** How the engine marks in a prompt who wrote it, where that is not the person the conversation belongs to. */
const SPEAKER = /^<speaker id="([^"]{1,200})"[^>]{0,300}\/>\n?/;

/** Splits a person's message into its text and the speaker, if its mark names one. */
export function saidIn(text: string): { readonly speaker: string | undefined; readonly text: string } {
  const [mark = "", speaker] = SPEAKER.exec(text) ?? [];
  return { speaker, text: withoutIds(text.slice(mark.length)) };
}
