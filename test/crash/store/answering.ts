/**
 * Agents that answer: take up to three messages, think, rest, each one commit. A process that finds an open run
 * continues from its last committed step, so that every message is asked once and answered once after every kill.
 */
import type { AgentRecord } from "../../../src/core/agent/agent.ts";
import { deliveryId } from "../../../src/core/delivery/delivery.ts";
import { type AgentId, type EntryId, entryId, type RunId } from "../../../src/core/ids.ts";
import type { Message } from "../../../src/core/message/message.ts";
import type { RunBody } from "../../../src/core/run/run.ts";
import type { Op, Owner } from "../../../src/core/store/change.ts";
import { type ActorRegistry, answeredLine, commit } from "./crowd.ts";
import { WEIGHT } from "./posting.ts";

/** Finds agents that have no loop yet and starts one for each. */
export async function answerAll(crowd: ActorRegistry): Promise<never> {
  for (;;) {
    const [claimed] = await commit(crowd, "crash.claim", [{ op: "agents.claim", node: crowd.node, limit: 100 }]);
    if (claimed?.op !== "agents.claim") throw new Error("No answer to a claim.");
    for (const agent of await crowd.store.agents({ limit: 100 })) {
      if (agent.node === crowd.node && !crowd.wake.has(agent.id)) answer(crowd, agent).catch(die);
    }
    await new Promise<void>((resolve) => crowd.onNewAgent(resolve));
  }
}

async function answer(crowd: ActorRegistry, found: AgentRecord): Promise<never> {
  const { store } = crowd;
  const owner: Owner = { agentId: found.id, node: crowd.node, epoch: found.epoch };
  let wake = (): void => {};
  crowd.wake.set(found.id, () => wake());
  const place: Place = { owner, position: found.nextPos };
  if (found.runId) await finish(crowd, place, found.runId);
  for (;;) {
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const messages = await store.waiting(found.id, { limit: crowd.random.int(1, 3) });
    if (messages.length === 0) await woken;
    else await run(crowd, place, messages);
  }
}

interface Place {
  readonly owner: Owner;
  position: number;
}

async function run(crowd: ActorRegistry, place: Place, messages: readonly Message[]): Promise<void> {
  const runId = crowd.ids.uuid() as RunId;
  const seqs = messages.map((message) => message.seq);
  const body: RunBody = { lane: "main", seqs, calls: [], iterations: 0, deliveries: 0 };
  await commit(
    crowd,
    "crash.take",
    [
      { op: "run.open", runId, body },
      { op: "message.take", runId, seqs },
      append(
        crowd,
        place,
        messages.map((message) => ({ role: "user", token: tokenOf(message) })),
      ),
    ],
    place.owner,
  );
  await finish(crowd, place, runId);
}

/** Continues a run from its last committed step to its end. */
async function finish(crowd: ActorRegistry, place: Place, runId: RunId): Promise<void> {
  const agentId = place.owner.agentId;
  let record = await crowd.store.run(runId);
  if (!record) throw new Error(`Run ${runId} is gone.`);
  const messages = await messagesOf(crowd, agentId, record.body.seqs);
  const at = (step: number): Owner => ({ ...place.owner, run: { id: runId, step } });
  if (record.body.iterations === 0) {
    const body = { ...record.body, iterations: 1 };
    const lines = messages.map((message) => ({ role: "assistant", token: tokenOf(message), text: WEIGHT }));
    await commit(crowd, "crash.think", [{ op: "run.step", runId, body }, append(crowd, place, lines)], at(record.step));
    record = await crowd.store.run(runId);
    if (!record) throw new Error(`Run ${runId} is gone.`);
  }
  const state = { ...(await crowd.store.agent(agentId))?.state, updatedAt: Date.now() };
  const rest: Op[] = [
    ...messages.map(
      (message, ordinal): Op => ({
        op: "delivery.add",
        delivery: {
          id: deliveryId(runId, ordinal),
          agentId,
          runId,
          target: { channel: "crash", to: agentId },
          payload: { text: tokenOf(message) },
          createdAt: Date.now(),
        },
      }),
    ),
    {
      op: "message.settle",
      settlements: messages.map((message) => ({ seq: message.seq, from: "taken", state: "answered", runId })),
    },
    { op: "state.put", state: state as AgentRecord["state"] },
    { op: "run.end", runId, body: record.body, outcome: "ok" },
  ];
  await commit(crowd, "crash.rest", rest, at(record.step));
  for (const message of messages) crowd.say(answeredLine(agentId, message.seq, tokenOf(message)));
}

async function messagesOf(crowd: ActorRegistry, agentId: AgentId, seqs: readonly number[]): Promise<Message[]> {
  const found = await Promise.all(seqs.map((seq) => crowd.store.message(agentId, seq)));
  return found.filter((message) => message !== undefined);
}

const tokenOf = (message: Message): string => (message.body.kind === "user" ? message.body.text : "");

function append(
  crowd: ActorRegistry,
  place: Place,
  entries: readonly { role: string; token: string; text?: string }[],
): Op {
  const position = place.position;
  let leaf = "" as EntryId;
  const lines = entries.map((entry, index) => {
    leaf = entryId(position + index, crowd.ids.uuid());
    return JSON.stringify({ type: "message", id: leaf, ...entry });
  });
  place.position += lines.length;
  return { op: "entries.append", position, lines, leaf };
}

function die(error: unknown): never {
  console.error(error);
  process.exit(1);
}
