/**
 * The tables a copy moves, which both databases have. Ownership, leases and the log of applied changes belong to one
 * database and are not copied. A test checks that no table is missing here.
 */
export type ColumnType = "text" | "integer" | "real" | "boolean" | "list";

export interface CopiedTable {
  readonly name: string;
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns that order the rows, the same way in both databases. */
  readonly key: readonly string[];
  /** Columns that hold an agent's id here and its number in SQLite. */
  readonly agent?: string;
}

const SPENDS = ["spent", "reserved", "lifted", "estimated"];

export const COPIED: readonly CopiedTable[] = [
  {
    name: "agents",
    key: ["no"],
    columns: {
      no: "integer",
      id: "text",
      session_key: "text",
      profile: "text",
      person: "text",
      kind: "text",
      parent: "text",
      descriptor: "text",
      created_at: "integer",
      session_id: "text",
      next_seq: "integer",
      cursor: "integer",
      waiting: "integer",
      next_pos: "integer",
      leaf: "text",
      run_id: "text",
      epoch: "integer",
      last_human_at: "integer",
      last_user_seq: "integer",
      stopped: "text",
      suspended: "boolean",
      state: "text",
    },
  },
  { name: "session_keys", key: ["key"], agent: "agent", columns: { key: "text", agent: "text" } },
  {
    name: "dedupe",
    key: ["key"],
    agent: "agent",
    columns: { key: "text", agent: "text", seq: "integer", keep_until: "integer" },
  },
  {
    name: "requests",
    key: ["key"],
    agent: "agent",
    columns: {
      key: "text",
      digest: "text",
      agent: "text",
      seq: "integer",
      finished: "boolean",
      reply: "text",
      keep_until: "integer",
    },
  },
  {
    name: "messages",
    key: ["agent", "seq"],
    agent: "agent",
    columns: {
      agent: "text",
      seq: "integer",
      state: "text",
      urgent: "boolean",
      accepted_at: "integer",
      settled_at: "integer",
      run_id: "text",
      reason: "text",
      message: "text",
    },
  },
  { name: "entries", key: ["agent", "pos"], agent: "agent", columns: { agent: "text", pos: "integer", line: "text" } },
  {
    name: "runs",
    key: ["n"],
    agent: "agent",
    columns: {
      n: "integer",
      id: "text",
      agent: "text",
      session_id: "text",
      state: "text",
      attempt: "integer",
      step: "integer",
      started_at: "integer",
      ended_at: "integer",
      outcome: "text",
      abort: "text",
      body: "text",
    },
  },
  {
    name: "deliveries",
    key: ["n"],
    agent: "agent",
    columns: {
      n: "integer",
      id: "text",
      agent: "text",
      run_id: "text",
      state: "text",
      attempts: "integer",
      next_at: "integer",
      created_at: "integer",
      ended_at: "integer",
      reason: "text",
      receipt: "text",
      target: "text",
      payload: "text",
    },
  },
  { name: "jobs", key: ["id"], columns: { id: "text", next_at: "integer", job: "text" } },
  {
    name: "subagent_runs",
    key: ["run_id"],
    columns: { run_id: "text", requester: "text", record: "text", ended: "boolean", due_at: "integer" },
  },
  { name: "swarms", key: ["nametag"], columns: { nametag: "text", record: "text" } },
  {
    name: "swarm_contacts",
    key: ["swarm", "contact"],
    columns: {
      swarm: "text",
      contact: "text",
      agent: "text",
      sent: "integer",
      received: "integer",
      first_at: "integer",
      last_at: "integer",
    },
  },
  { name: "people", key: ["id"], columns: { id: "text", record: "text" } },
  { name: "person_accounts", key: ["account"], columns: { account: "text", person: "text" } },
  {
    name: "audit",
    key: ["n"],
    columns: {
      n: "integer",
      at: "integer",
      person: "text",
      agent: "text",
      action: "text",
      decision: "text",
      entry: "text",
    },
  },
  {
    name: "approvals",
    key: ["n"],
    columns: {
      n: "integer",
      id: "text",
      agent: "text",
      run_id: "text",
      call_id: "text",
      person: "text",
      digest: "text",
      state: "text",
      due_at: "integer",
      ended_at: "integer",
      decided_at: "integer",
      decided_by: "text",
      surface: "text",
      reason: "text",
      shown: "integer",
      record: "text",
    },
  },
  {
    name: "job_slots",
    key: ["n"],
    columns: { n: "integer", job: "text", slot: "text", at: "integer", row: "text" },
  },
  {
    name: "waits",
    key: ["id"],
    columns: { id: "text", waiter: "text", awaited: "text", run_id: "text", since: "integer" },
  },
  {
    name: "stored_files",
    key: ["id"],
    columns: {
      id: "text",
      sha: "text",
      blob: "text",
      shown_blob: "text",
      person: "text",
      size: "integer",
      created_at: "integer",
      record: "text",
    },
  },
  { name: "file_holds", key: ["file", "holder"], columns: { file: "text", holder: "text" } },
  {
    name: "blob_trash",
    key: ["blob"],
    columns: { blob: "text", due_at: "integer", doomed: "boolean" },
  },
  { name: "facts", key: ["key"], columns: { key: "text", value: "text" } },
  {
    name: "budgets",
    key: ["key"],
    columns: {
      key: "text",
      ...Object.fromEntries(
        SPENDS.flatMap((of) => [`${of}_tokens`, `${of}_micros`].map((name) => [name, "integer" as const])),
      ),
      at: "integer",
    },
  },
  {
    name: "reservations",
    key: ["id"],
    columns: { id: "text", run_id: "text", keys: "list", tokens: "integer", micros: "integer", at: "integer" },
  },
  { name: "budget_told", key: ["key", "agent"], columns: { key: "text", agent: "text" } },
];

/** A row with its columns in the table's order: text, number, boolean as 0 or 1, a list as JSON, or null. */
export type CopiedRow = readonly (string | number | null)[];
