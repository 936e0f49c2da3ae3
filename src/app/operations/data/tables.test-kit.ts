/**
 * What forgetting a person does with each stored table, of both databases. A feature that adds a table adds it here; one test fails
 * for a table that is missing, and another for one in which a person's rows stay.
 */

/** What happens to the rows of a person who is forgotten. */
type ForgetRule =
  /** Rows of the person's agents are removed with the agents. */
  | "with the agent"
  /** Rows that name the person are removed. */
  | "by person"
  /** The person's id becomes a random tombstone. */
  | "tombstone"
  /** Only digests are in it; they stay until their horizon. */
  | "digests stay"
  /** Nothing in it says anything about people. */
  | "none";

export const FORGET_RULES: Readonly<Record<string, ForgetRule>> = {
  agents: "with the agent",
  session_keys: "with the agent",
  dedupe: "digests stay",
  requests: "digests stay",
  messages: "with the agent",
  entries: "with the agent",
  runs: "with the agent",
  deliveries: "with the agent",
  jobs: "by person",
  subagent_runs: "with the agent",
  swarms: "by person",
  swarm_contacts: "with the agent",
  people: "by person",
  person_accounts: "by person",
  audit: "tombstone",
  approvals: "with the agent",
  job_slots: "by person",
  waits: "with the agent",
  stored_files: "by person",
  file_holds: "with the agent",
  blob_trash: "none",
  facts: "by person",
  budgets: "by person",
  reservations: "with the agent",
  budget_told: "with the agent",
  meta: "none",
  nodes: "none",
  changes: "with the agent",
  states: "with the agent",
  files: "by person",
};
