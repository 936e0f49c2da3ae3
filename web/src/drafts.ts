/** Texts that are being written, and messages that the engine has not accepted yet. They survive a reload and an ended login. */
import { BASE } from "./base.ts";
import type { Sent } from "./conversation/chat.ts";
import type { StoredFile } from "./files.ts";

export interface Draft {
  readonly text: string;
  readonly files: readonly Pick<StoredFile, "id" | "name">[];
  readonly unsent: readonly Sent[];
}

const PREFIX = `rookery-draft ${BASE} `;
/** A browser stores a few megabytes. */
const MAX_STORED = 500_000;
const NOTHING: Draft = { text: "", files: [], unsent: [] };

const keyOf = (person: string | null, conversation: string): string => `${PREFIX}${person ?? ""} ${conversation}`;

export function readDraft(person: string | null, conversation: string): Draft {
  try {
    return { ...NOTHING, ...JSON.parse(localStorage.getItem(keyOf(person, conversation)) ?? "{}") };
  } catch {
    return NOTHING;
  }
}

export function keepDraft(person: string | null, conversation: string, draft: Draft): void {
  const key = keyOf(person, conversation);
  const isEmpty = draft.text === "" && draft.files.length + draft.unsent.length === 0;
  const json = JSON.stringify(draft);
  try {
    if (isEmpty) localStorage.removeItem(key);
    else if (json.length <= MAX_STORED) localStorage.setItem(key, json);
  } catch {
    // The browser stores nothing: the draft lasts until the page is loaded again.
  }
}

/** For a person who signs out. */
export function forgetDrafts(): void {
  try {
    const keys = Array.from({ length: localStorage.length }, (_, n) => localStorage.key(n) ?? "");
    for (const key of keys) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // Nothing is stored.
  }
}
