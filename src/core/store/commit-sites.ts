/**
 * The places in the program that commit a change. A label names its place in logs, in the record of a run, in the simulation and
 * in tests, which stop or kill the process there. A store accepts any label.
 */
import type { DeliveryState } from "../delivery/delivery.ts";
import type { Change } from "./change.ts";

// biome-ignore format: one group per line is easier to read.
const COMMIT_SITES = [
  // Messages.
  "accept", "accept.stale", "take", "steer", "record", "settle", "discard", "abort.queued", "inbox.drop", "message.tried", "message.failed", "wait.begin", "wait.end",
  // Sessions and commands.
  "setting", "setting.refused", "setting.wrong", "reset", "reset.stale", "branch", "branch.follow", "branch.gone",
  "command", "subagents", "stop", "describe",
  // Agents.
  "agent.claim", "agents.claim", "agent.create", "agent.start", "agent.stop", "agent.remove", "agent.erase", "hand", "release",
  "remove", "start-again", "wind-down", "wind-up", "swarm.put", "swarm.remove",
  // Runs.
  "think", "reserve", "intend", "result", "waits", "suspend", "pause", "resume", "continue", "flush", "compact", "compact.rest", "rest",
  "rest.caller", "end.aborted", "end.compact", "end.failed", "end.timeout", "abort", "abort.late",
  // Trials of runs after a crash.
  "trial.death", "trial.drained", "trial.pause-over", "trial.survived", "watchdog.note", "watchdog.counted",
  // Children.
  "subagent.start", "subagent.send", "subagent.stop", "subagent.lost", "subagent.release", "subagent.archive",
  // Nodes.
  "node.join", "node.renew", "node.leave",
  // Deliveries. Moves of a delivery have the label of the state that follows.
  "outbox.retry", "outbox.edit", "outbox.drop", "outbox.receipt", "outbox.notice", "outbox.written", "mailbox.open",
  "mailbox.read",
  // Approvals, budgets and retention.
  "approval.decide", "approval.expire", "approval.told", "budget.lift", "budget.sweep", "prune", "prune.audit",
  // Triggers.
  "trigger.off", "trigger.pass", "trigger.skip", "cron.add", "cron.run", "cron.wake", "cron.update", "cron.remove", "cron.replan",
  "task.new", "task.edit", "task.gone", "heartbeat.add", "heartbeat.edit", "heartbeat.skip",
  // People.
  "person.put", "person.remove", "person.invite", "people.config", "conversations",
  "pairing", "forget.begin", "forget.rows", "forget.facts", "forget.job", "forget.files", "forget.end", "forget.compacted",
  // Files.
  "file.stage", "file.put", "file.gone", "file.remove", "file.sweep",
  // Channels and the gateway.
  "telegram.rates", "telegram.status", "whatsapp-web.seen", "whatsapp-web.auth", "tokens", "login.begin", "login.code", "login.end",
  "login.refresh", "api.finished", "api.reply", "audit.config", "audit.login", "audit.token",
  // The store itself.
  "store.lose-open-work", "store.restored-backup",
  // Changes that a test makes itself.
  "test",
] as const;

export type CommitSite = (typeof COMMIT_SITES)[number] | `${"outbox" | "waiting"}.${DeliveryState}`;

/** A change that the engine makes. */
export type EngineChange = Change & { readonly site: CommitSite };
