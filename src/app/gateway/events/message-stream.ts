/** Streams the run that answers one message: waits until a run has taken it, then streams that run to its end. */
import { TimeoutError } from "../../../core/errors.ts";
import type { RunId } from "../../../core/ids.ts";
import { isSettled, type Message } from "../../../core/message/message.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import { type AgentStreamContext, streamAgent } from "./agent-stream.ts";
import { parseEventId } from "./event-id.ts";
import { eventFrame } from "./event-stream-writer.ts";
import { openEventStream, type StreamRequest } from "./open-event-stream.ts";
import { endPosition, firstPosition } from "./run-positions.ts";

interface MessageStreamContext extends AgentStreamContext {
  readonly agents: AgentStreamContext["agents"] & Pick<AgentSystem, "waitForMessage">;
}

const WAIT_MS = 60_000;

/** Throws a 504 if no run has taken the message within a minute. */
export async function streamMessage(
  request: StreamRequest<MessageStreamContext>,
  message: Message,
  lastEventId: string | undefined,
): Promise<void> {
  const { store } = request.context.ports;
  const { agentId, seq } = message;
  const seen = parseEventId(lastEventId);
  // A run that takes the message from now on writes its entries behind this position.
  const next = message.runId === undefined ? (await store.agent(agentId))?.nextPos : undefined;
  const taken = message.runId === undefined ? await whenTaken(request.context, message) : message;
  if (taken.runId === undefined) {
    const writer = openEventStream(request);
    writer.write(eventFrame("end", `m${seq}`, { type: "end", agentId, outcome: taken.state, reason: taken.reason }));
    writer.close("done");
    return;
  }
  const run = await store.run(taken.runId);
  const from = seen ? 0 : (next ?? (run ? await firstPosition(store, run) : 0));
  streamAgent(request, { agentId, runId: taken.runId, seen, from, until: run && endPosition(run as RunRecord) });
}

/** The message once a run has taken it, or once it is settled without one. */
async function whenTaken(
  { agents, runEvents, ports }: MessageStreamContext,
  { agentId, seq }: Message,
): Promise<Message & { readonly runId?: RunId }> {
  const found = Promise.withResolvers<Message>();
  const look = async (): Promise<void> => {
    const message = await ports.store.message(agentId, seq);
    if (message && (message.runId !== undefined || isSettled(message))) found.resolve(message);
  };
  const lookNow = (): void => void look().catch(found.reject);
  // A run takes messages when it starts and at each step.
  const unsubscribe = runEvents.subscribe(agentId, ({ type }) => {
    if (type === "start" || type === "step" || type === "end") lookNow();
  });
  try {
    lookNow();
    agents.waitForMessage({ agentId, seq }, WAIT_MS).then(lookNow, (error) => {
      found.reject(error instanceof TimeoutError ? notTaken() : error);
    });
    return await found.promise;
  } finally {
    unsubscribe();
  }
}

const notTaken = (): TimeoutError =>
  new TimeoutError("No run has taken the message yet.", { hint: "Repeat the request; the message is not lost." });
