/**
 * What an actor does next. A run without an end goes first, then a stop, a finished summary, and the choice that the
 * inbox makes; `act` carries out each choice.
 */

import type { Settings } from "../../../config/settings.ts";
import { isStale, resetPolicyFor } from "../../../core/agent/session-freshness.ts";
import type { RunId } from "../../../core/ids.ts";
import { isSilent, type Message } from "../../../core/message/message.ts";
import { CommitRefused } from "../../commit/commit-refused.ts";
import type { Choice } from "../../inbox/decide.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { discardWaiting, type RecoveryParts, recoverRun } from "../recovery/recover-run.ts";
import { changeSettings } from "../sessions/change-settings.ts";
import { goBack, goTo } from "../sessions/go-back.ts";
import { replaceStaleSession, resetSession } from "../sessions/reset-session.ts";
import { updatePermanentAgent } from "../sessions/update-permanent-agent.ts";
import { drainStoppedInbox, removeForGood } from "./drain-stopped-inbox.ts";
import { countsAsTry, countTry } from "./failed-tries.ts";
import { answerQuestion, recordEnd, recordSilent, settle, settleSpentYes, settleStop } from "./inbox-steps.ts";
import type { Look } from "./inbox-view.ts";
import type { Next } from "./run-driver.ts";
import { wakeSuspended } from "./wake-suspended.ts";

const PAGE = 256;

export interface ActorParts extends RecoveryParts {
  discards: boolean;
  /** Whether a commit was refused because the agent or an ancestor was stopped. */
  stopped: boolean;
}

export async function nextAction(parts: ActorParts, lease: AgentLease): Promise<Next> {
  const { host, inbox, driver } = parts;
  const stopped = parts.stopped || lease.record.stopped !== undefined;
  // A recovered run or a drained inbox may take the message that was known to wait.
  if (lease.runId || stopped) inbox.known(undefined);
  if (lease.runId && lease.suspended) return whileRunWaits(parts, lease, lease.runId);
  if (lease.runId) {
    await recoverRun(parts, lease, lease.runId);
    return afterRun(lease);
  }
  parts.faulted = false;
  const next = stopped && (await drainStopped(parts, lease));
  if (next) return next;
  if (await driver.background?.append(host.ports, lease)) return "again";
  // Taken once: everything that this message needs is decided by the same settings (M37).
  const settings = host.ports.settings.current;
  const look = await inbox.choose(lease, driver.busyUntil, settings);
  if (parts.discards) {
    const discarded = await discardWaiting(host, lease, look.messages);
    if (discarded.length > 0) return settled(parts, discarded);
    parts.discards = false;
  }
  return handling(parts, lease, handledBy(look.choice), () => act(parts, lease, look, settings));
}

/** Counts a failed try at these messages if the work throws before a run has taken them (M48). */
async function handling(
  parts: ActorParts,
  lease: AgentLease,
  messages: readonly Message[],
  work: () => Promise<Next>,
): Promise<Next> {
  const { runId } = lease;
  try {
    return await work();
  } catch (error) {
    if (messages.length === 0 || lease.runId !== runId || !countsAsTry(error)) throw error;
    settled(parts, await countTry(parts.host.ports, lease, messages, error));
    return "reload";
  }
}

function handledBy(choice: Choice): readonly Message[] {
  if (choice.act === "run") return [...choice.messages, ...choice.dropped.map(({ message }) => message)];
  if ("messages" in choice) return choice.messages;
  return "message" in choice ? [choice.message] : [];
}

async function act(
  parts: ActorParts,
  lease: AgentLease,
  { choice, seen, now }: Look,
  settings: Settings,
): Promise<Next> {
  const { host, driver } = parts;
  const { ports } = host;
  switch (choice.act) {
    case "rest":
      // Only if the context is in memory: reading a whole history only for this check costs too much.
      return lease.context.size && (await driver.flush(lease)) ? afterRun(lease) : release(lease);
    case "wait":
      await debounce(parts, choice);
      // The agent may have been stopped while its message rested.
      return choice.retry ? "reload" : "again";
    case "reset":
      driver.background?.stop();
      await resetSession(ports, lease, choice.message);
      return settled(parts, [choice.message]);
    case "record":
      if (choice.messages[0]?.body.kind === "permission") await recordEnd(ports, lease, choice.messages[0]);
      else await recordSilent(ports, lease, choice.messages);
      return settled(parts, choice.messages);
    case "stop":
      return stop(parts, lease, choice.message);
    case "settle":
      return handleCommand(parts, lease, choice.message, choice.reason);
    case "run": {
      if (await settleSpentYes(ports, lease, choice.messages[0])) return settled(parts, choice.messages);
      const handed = await handOver(parts, lease);
      if (handed) return handed;
      const moved = await followMessage(parts, lease, choice.messages);
      if (moved) return moved;
      if (isSessionStale(settings, lease, choice.messages, now)) {
        driver.background?.stop();
        await replaceStaleSession(ports, lease);
        return "again";
      }
      if (choice.messages[0]?.body.kind !== "compact" && (await driver.flush(lease))) return afterRun(lease);
      return driver.take(lease, choice, seen, settings);
    }
  }
}

/** The agent's commands run on another node: its runs do too. Undefined if it works here, or if that node has just ended. */
async function handOver({ host, driver }: ActorParts, lease: AgentLease): Promise<Next | undefined> {
  const to = await host.elsewhere(lease.record);
  if (to === undefined) return undefined;
  try {
    await lease.commit({ site: "hand", ops: [{ op: "agent.hand", to }] });
  } catch (error) {
    if (error instanceof CommitRefused && error.refused === "missing") return undefined;
    throw error;
  }
  driver.background?.stop();
  // The next read finds that another node holds it.
  return "reload";
}

/** A message that continues an entry: the agent goes there first. Undefined if it is there, or if no message names one. */
async function followMessage(
  parts: ActorParts,
  lease: AgentLease,
  messages: readonly Message[],
): Promise<Next | undefined> {
  const message = messages.findLast(({ body }) => body.kind === "user" && body.after !== undefined);
  if (!message) return undefined;
  const went = await goTo(parts.host.ports, lease, message);
  if (went === "there") return undefined;
  // The summary in progress may be about entries that are left.
  parts.driver.background?.stop();
  if (went === "gone") settled(parts, [message]);
  return "reload";
}

/** The agent's run waits for a person. Without a message the agent is released; a silent one keeps it held, and at rest. */
async function whileRunWaits(parts: ActorParts, lease: AgentLease, runId: RunId): Promise<Next> {
  const next = await wakeSuspended(parts, lease, runId);
  if (next === "woken") return afterRun(lease);
  if (next.act === "settle") {
    const { message, reason } = next;
    return handling(parts, lease, [message], () => handleCommand(parts, lease, message, reason));
  }
  if (next.act === "retry") {
    await parts.pause(next.until - parts.host.ports.clock.now());
    return "reload";
  }
  return (await release(lease)) === "rest" ? "rest" : atRestUnlessWoken(parts, lease);
}

/** A message that came while the agent was being released is read; a silent one changes nothing. */
async function atRestUnlessWoken({ host }: ActorParts, lease: AgentLease): Promise<Next> {
  const waiting = await host.ports.store.waiting(lease.agentId, { limit: PAGE });
  return waiting.every(({ body }) => isSilent(body)) ? "rest" : "reload";
}

/** The end of a run may have released the agent. */
const afterRun = (lease: AgentLease): Next => (lease.released ? "rest" : "again");

function settled({ host }: ActorParts, messages: readonly Message[]): Next {
  host.emit({ type: "settled", messages });
  return "again";
}

/** Undefined: the agent continues with its inbox. */
async function drainStopped(parts: ActorParts, lease: AgentLease): Promise<Next | undefined> {
  const result = await drainStoppedInbox(parts.host.ports, lease);
  if (result.is === "settled") return settled(parts, result.messages);
  if (result.is === "removing") {
    await removeForGood(lease, result.stops, result.reason);
    settled(parts, result.stops);
    return "rest";
  }
  parts.stopped = false;
  // The mark in memory is older than the store.
  return result.is === "free" && lease.record.stopped ? "reload" : undefined;
}

async function stop(parts: ActorParts, lease: AgentLease, message: Message): Promise<Next> {
  const { ports } = parts.host;
  // A stop may come before a removal: then everything else that waits is settled first.
  if ((await ports.store.agent(lease.agentId))?.stopped?.removing) {
    parts.stopped = true;
    return "again";
  }
  await settleStop(ports, lease, message);
  return settled(parts, [message]);
}

/** A command that needs no run. */
async function handleCommand(parts: ActorParts, lease: AgentLease, message: Message, reason: string): Promise<Next> {
  const { ports } = parts.host;
  switch (message.body.kind) {
    case "setting":
      await changeSettings(ports, lease, message);
      break;
    case "describe":
      await updatePermanentAgent(ports, lease, message);
      break;
    case "subagents":
    case "command":
      await answerQuestion(ports, lease, message);
      break;
    case "permission":
      await recordEnd(ports, lease, message);
      break;
    case "branch":
      // The summary in progress may be about entries that the branch leaves.
      parts.driver.background?.stop();
      await goBack(ports, lease, message);
      settled(parts, [message]);
      // The context in memory belongs to the old tip.
      return "reload";
    default:
      await settle(ports, lease, "settle", [message], "recorded", reason);
  }
  return settled(parts, [message]);
}

/** Releases the agent. The store refuses if a message came in between: then the agent is read again (M2, M3). */
async function release(lease: AgentLease): Promise<Next> {
  const { results } = await lease.commit({ site: "release", ops: [{ op: "agent.release" }] });
  const [release] = results;
  lease.released = release?.op === "agent.release" && release.released;
  return lease.released ? "rest" : "reload";
}

/** Later messages do not make the wait longer. Only an urgent one ends it early. */
async function debounce(
  { host, inbox, pause }: ActorParts,
  { until, retry }: Extract<Choice, { act: "wait" }>,
): Promise<void> {
  const { clock } = host.ports;
  for (let left = until - clock.now(); left > 0; left = until - clock.now()) {
    await pause(left);
    // The message that rests may have been dropped.
    if (retry || host.draining() || until <= clock.now() || (await inbox.overtaken())) return;
  }
}

/** Whether the session was stale before these messages. Only a message of a person counts. */
function isSessionStale(
  { session, zone }: Settings,
  { record, state }: AgentLease,
  messages: readonly Message[],
  now: number,
): boolean {
  const last = state.lastInteractionAt;
  if (last === undefined || !messages.some(({ body }) => body.kind === "user")) return false;
  // Such a message continues this session, however old it is.
  if (messages.some(({ body }) => body.kind === "user" && body.after !== undefined)) return false;
  return isStale(resetPolicyFor(record, session.reset), last, now, zone);
}
