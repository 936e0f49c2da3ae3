/**
 * The row of an agent while changes are being applied: read once, changed in memory, written once per group. Every change
 * that touches an agent goes through its draft, so counters are compared and moved in one place (M3).
 */
import type { AgentId, SessionKey } from "../../../core/ids.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

export interface AgentDraft {
  readonly no: number;
  readonly id: AgentId;
  readonly kind: string;
  readonly parent: string | null;
  readonly session_key: string;
  session_id: string;
  next_seq: number;
  cursor: number;
  waiting: number;
  next_pos: number;
  leaf: string;
  run_id: string | null;
  node: number | null;
  epoch: number;
  last_human_at: number | null;
  stopped: string | null;
  /** The new state as JSON, where the change brings one. */
  state?: string;
  /** What must be written: nothing, the inbox's columns, or all. */
  dirty: "no" | "inbox" | "all";
}

/** How many rows are remembered between changes. Only this process writes, so what is remembered is what is there. */
const REMEMBERED = 10_000;

/**
 * The rows changes have read or made. They are written once per group and remembered between groups, so that a warm
 * agent costs no read; a group that was rolled back forgets them all.
 */
export class AgentDrafts {
  readonly #db: Database;
  readonly #byId = new Map<string, AgentDraft>();
  readonly #byNo = new Map<number, AgentDraft>();
  readonly #byKey = new Map<string, AgentDraft>();
  readonly #dirty = new Set<AgentDraft>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** The draft of an agent, or a refusal where there is none. */
  get(id: AgentId): AgentDraft {
    const draft = this.find(id);
    if (!draft) throw new RefusedChange("missing", `There is no agent ${id}.`);
    return draft;
  }

  find(id: AgentId): AgentDraft | undefined {
    return this.#byId.get(id) ?? this.#keep(this.#db.statement("select-owner").get(id));
  }

  byKey(key: SessionKey): AgentDraft | undefined {
    const known = this.#byKey.get(key) ?? this.#keep(this.#db.statement("select-owner-by-key").get(key));
    // Only what was found by its key is known by it: the row of a removed agent still bears the key it had.
    if (known) this.#byKey.set(key, known);
    return known;
  }

  byNumber(no: number): AgentDraft {
    const draft = this.#byNo.get(no) ?? this.#keep(this.#db.statement("select-owner-by-no").get(no));
    if (!draft) throw new RefusedChange("missing", `There is no agent number ${no}.`);
    return draft;
  }

  /** Says that a draft was changed, and how much of it. */
  touch(draft: AgentDraft, what: "inbox" | "all"): void {
    if (draft.dirty !== "all") draft.dirty = what;
    this.#dirty.add(draft);
  }

  /** The agent was removed: its address leads nowhere, or to whoever takes it next. */
  unkey(draft: AgentDraft): void {
    if (this.#byKey.get(draft.session_key) === draft) this.#byKey.delete(draft.session_key);
  }

  /** Writes every changed row, once: at a group's end, and before a statement that looks at many rows. */
  write(): void {
    for (const draft of this.#dirty) {
      writeDraft(this.#db, draft);
      draft.dirty = "no";
      draft.state = undefined;
    }
    this.#dirty.clear();
  }

  /** Lets go of what is remembered when it is too much. Only between groups: a change at work holds drafts. */
  trim(): void {
    if (this.#byId.size > REMEMBERED) this.forget();
  }

  /** Forgets all: after a rollback nothing in memory can be trusted (M2). */
  forget(): void {
    this.#byId.clear();
    this.#byNo.clear();
    this.#byKey.clear();
    this.#dirty.clear();
  }

  #keep(row: Record<string, unknown> | undefined): AgentDraft | undefined {
    if (!row) return undefined;
    const known = this.#byId.get(row.id as string);
    if (known) return known;
    const draft = row as unknown as AgentDraft;
    draft.dirty = "no";
    this.#byId.set(draft.id, draft);
    this.#byNo.set(draft.no, draft);
    return draft;
  }
}

function writeDraft(db: Database, d: AgentDraft): void {
  const inbox = [d.next_seq, d.cursor, d.waiting, d.node, d.epoch, d.last_human_at] as const;
  if (d.dirty === "inbox") {
    db.statement("update-agent-inbox").run(...inbox, d.no);
    return;
  }
  const all = [...inbox, d.session_id, d.next_pos, d.leaf, d.run_id, d.stopped] as const;
  if (d.state === undefined) db.statement("update-agent").run(...all, d.no);
  else db.statement("update-agent-with-state").run(...all, d.state, d.no);
}

/** After messages left the waiting state: no message at or below the cursor waits. */
export function advanceCursor(db: Database, draft: AgentDraft): void {
  if (draft.waiting === 0) {
    draft.cursor = draft.next_seq - 1;
    return;
  }
  const first = db.statement("select-first-waiting").get(draft.no, draft.cursor);
  draft.cursor = Number(first?.seq ?? draft.next_seq) - 1;
}
