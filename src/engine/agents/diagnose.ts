/** Lists active and stuck work, from indexes only. Changes nothing and shows no texts of messages. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { BusyAgent, Diagnosis } from "../../core/agent/diagnosis.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { isHeldBack } from "../../core/run/held-back.ts";
import type { WhatWaits } from "../../core/run/what-waits.ts";
import { namerOf, namesInList } from "../../core/store/agent-names.ts";
import { failingMessages } from "../../core/store/failing-messages.ts";
import type { Lanes } from "../runs/lanes.ts";

const LISTED = 50;
const NEXT = 3;

interface DiagnosisParts {
  readonly ports: Pick<Ports, "store" | "clock">;
  readonly lanes: Pick<Lanes, "counts">;
  readonly degraded: ReadonlyMap<AgentId, string>;
  whatWaits(agentId: AgentId): Promise<WhatWaits>;
}

export async function diagnose({ ports, lanes, degraded, whatWaits }: DiagnosisParts): Promise<Diagnosis> {
  const { store, clock } = ports;
  const at = clock.now();
  const agents = await store.busyAgents({ limit: LISTED + 1 });
  const busy: BusyAgent[] = [];
  const names = await namesInList(store, agents.slice(0, LISTED));
  for (const [index, agent] of agents.slice(0, LISTED).entries())
    busy.push(await busyAgent(ports, agent, names[index] ?? "", whatWaits, at));
  const namer = namerOf(store);
  const waits = await store.waits({ limit: LISTED });
  const dead = await store.deliveries({ limit: LISTED, states: ["failed", "unconfirmed"] });
  const jobs = (await store.jobs()).filter(({ state }) => state.lastStatus === "error").slice(0, LISTED);
  return {
    at,
    busy,
    more: agents.length > LISTED,
    lanes: lanes.counts(),
    waits: await Promise.all(
      waits.map(async ({ from, to, since }) => ({
        ...{ from, to, sinceMs: at - since },
        ...{ fromName: await namer.nameById(from), toName: await namer.nameById(to) },
      })),
    ),
    deadLetters: await Promise.all(
      dead.map(async ({ id, agentId, state, reason, target: { channel }, attempts }) => ({
        ...{ id, agentId, agentName: await namer.nameById(agentId), state, reason, channel, attempts },
      })),
    ),
    waitingDeliveries: await store.waitingDeliveries(),
    degraded: await Promise.all(
      [...degraded].slice(0, LISTED).map(async ([agentId, reason]) => ({
        ...{ agentId, agentName: await namer.nameById(agentId).catch(() => undefined), reason },
      })),
    ),
    failing: await failingMessages(store, agents.slice(0, LISTED), namer.name),
    failedJobs: jobs.map(({ id, name, state }) => ({ id, name, error: state.lastError })),
  };
}

async function busyAgent(
  { store }: DiagnosisParts["ports"],
  agent: AgentRecord,
  name: string,
  whatWaits: DiagnosisParts["whatWaits"],
  at: number,
): Promise<BusyAgent> {
  const { id, sessionKey, descriptor, runId, node, stopped } = agent;
  const run = runId && (await store.run(runId));
  const { waiting } = await whatWaits(id);
  return {
    agentId: id,
    sessionKey,
    name,
    kind: descriptor.type,
    held: node !== undefined,
    stopped: stopped?.reason,
    run: run && {
      id: run.id,
      forMs: at - run.startedAt,
      attempt: run.attempt,
      iterations: run.body.iterations,
      calls: run.body.calls.map((call) => `${call.name} (${call.state})`),
      abort: run.abort?.reason,
      waitsForTrial: node !== undefined && isHeldBack(run, node),
    },
    waiting: agent.waiting,
    next: waiting.slice(0, NEXT).map(({ kind, acceptedAt, will }) => ({ kind, forMs: at - acceptedAt, will })),
  };
}
