/** Follows the run that takes one message: its events so far, then every new one, and no event of any other run. */
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Store } from "../../../core/store/store.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import type { RunEventHub } from "./run-event-hub.ts";

interface FollowContext {
  readonly ports: { readonly store: Pick<Store, "run"> };
  readonly agents: Pick<AgentSystem, "runs">;
  readonly runEvents: RunEventHub;
}

/**
 * Returns a function that unsubscribes. For a run on this node, memory holds the messages that the run has taken. For a run on
 * another node it asks the store, and holds events back until the store has answered.
 */
export function followMessage(
  { ports, agents, runEvents }: FollowContext,
  { agentId, seq }: { readonly agentId: AgentId; readonly seq: number },
  onEvent: (event: RunEvent) => void,
): () => void {
  let foundRun: RunId | undefined;
  /** Events that arrived during a query of the store; undefined if no query is open. */
  let waiting: RunEvent[] | undefined;
  /** Steps that were already looked up in the store: a run may take the message at each new step. */
  const askedSteps = new Set<string>();
  const isFromFoundRun = ({ runId }: RunEvent): boolean => {
    if (foundRun) return foundRun === runId;
    const run = agents.runs.live(agentId);
    if (run?.id !== runId || !run.body.seqs.includes(seq)) return false;
    foundRun = runId;
    return true;
  };
  const askStore = async (event: RunEvent): Promise<void> => {
    waiting = [event];
    const run = await ports.store.run(event.runId).catch(() => undefined);
    if (run?.body.seqs.includes(seq)) foundRun ??= event.runId;
    const arrived = waiting;
    waiting = undefined;
    for (const one of arrived) receive(one);
  };
  const receive = (event: RunEvent): void => {
    const step = `${event.runId} ${event.step}`;
    if (isFromFoundRun(event)) onEvent(event);
    else if (waiting) waiting.push(event);
    else if (runEvents.isShared && !foundRun && !askedSteps.has(step) && !agents.runs.live(agentId)) {
      askedSteps.add(step);
      void askStore(event);
    }
  };
  for (const event of runEvents.tailOf(agentId)?.tail.events() ?? []) receive(event);
  return runEvents.subscribe(agentId, receive);
}
