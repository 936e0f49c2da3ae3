/**
 * The operator, as another program on the same store: publishes the swarm, creates the permanent agents, changes their
 * prompts and removes them while messages wait.
 */

import type { AgentId, ChangeId } from "../../../src/core/ids.ts";
import type { Change, Op } from "../../../src/core/store/change.ts";
import { seedAgent } from "../../../src/engine/context/seed-agent.ts";
import { seededIds } from "../../kit/ids.ts";
import type { Random } from "../../kit/random.ts";
import { SWARM } from "../world/talk.ts";
import type { EventLog } from "./event-log.ts";
import { afterwards, type ServerBackend } from "./sim-store.ts";

export interface OperatorDeps {
  readonly backend: ServerBackend;
  readonly log: EventLog;
  readonly random: Random;
  wall(): number;
  readonly permanentAgents: readonly string[];
}

export interface Operator {
  /** The prompts that each permanent agent got, in order, by agent id. */
  readonly described: ReadonlyMap<string, readonly string[]>;
  readonly removed: readonly AgentId[];
  /** Gives some permanent agent another system prompt. */
  describe(): void;
  /** Removes some permanent agent for good. */
  remove(): void;
}

export function makeOperator({ backend, log, random, wall, permanentAgents }: OperatorDeps): Operator {
  const ids = seededIds("operator", random.fork("ids"));
  const described = new Map<string, string[]>();
  const removed: AgentId[] = [];
  let changes = 0;

  const apply = (site: string, ops: readonly Op[], then: () => void = () => {}): void => {
    const change: Change = { id: `operator-${++changes}` as ChangeId, site, at: wall(), ops };
    afterwards(backend.apply([change]), ([result]) => {
      if (result !== undefined && !(result instanceof Error) && result.ok) then();
    });
  };

  const agents: { readonly id: AgentId; readonly name: string }[] = [];
  const swarm = {
    nametag: SWARM,
    owner: "operator",
    profile: "main",
    firstName: "Desk",
    systemPrompt: "You help.",
    memory: false,
    createdAt: wall(),
  };
  apply("operator.swarm", [{ op: "swarm.put", swarm }]);
  for (const name of permanentAgents) {
    const descriptor = { type: "permanent", id: name, name, description: name, systemPrompt: "as made" } as const;
    const seed = seedAgent(ids, descriptor, wall());
    apply("operator.create", [{ op: "agent.create", seed }]);
    agents.push({ id: seed.id, name });
  }

  return {
    described,
    removed,
    describe() {
      const { id, name } = random.pick(agents);
      if (removed.includes(id)) return;
      const systemPrompt = `description ${changes}`;
      const body = { kind: "describe", by: "operator", description: name, systemPrompt } as const;
      const post: Op = { op: "message.post", to: { agentId: id }, message: { body, acceptedAt: wall() } };
      apply("operator.describe", [post], () => {
        described.set(id, [...(described.get(id) ?? []), systemPrompt]);
        log.write("operator", `describes ${name} as ${systemPrompt}`);
      });
    },
    remove() {
      const { id, name } = random.pick(agents);
      if (removed.includes(id)) return;
      const at = wall();
      const ops: readonly Op[] = [
        { op: "agent.stop", agentId: id, mark: { at, reason: "removed by the operator", removing: true } },
        { op: "message.post", to: { agentId: id }, message: { body: { kind: "stop" }, acceptedAt: at } },
      ];
      apply("operator.remove", ops, () => {
        removed.push(id);
        log.write("operator", `removes ${name}`);
      });
    },
  };
}
