/**
 * What an actor gets from its node: the ports its runs act through, the settings, and one `emit`. A host belongs to one
 * membership; a node that joins again makes a new one.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Gate } from "../../../core/ports/gate.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { isNode } from "../../../core/rights/exec-settings.ts";
import { type ApprovalPort, approvalPortOf } from "../../approvals/approval-port.ts";
import type { Approvals } from "../../approvals/approvals.ts";
import { digestOf } from "../../approvals/call-digest.ts";
import { budgetsOf } from "../../budgets/budget-settings.ts";
import { personNow } from "../../budgets/person-now.ts";
import { ShownFiles } from "../../context/show-files.ts";
import type { Emit } from "../../engine-event.ts";
import type { Outbox } from "../../outbox/outbox.ts";
import type { Directory } from "../../people/directory.ts";
import { configuredRules } from "../../rights/configured-rules.ts";
import { gateOf } from "../../rights/gate.ts";
import type { Lanes } from "../../runs/lanes.ts";
import { limitedModel } from "../../runtime/limited-model.ts";
import { modelTool } from "../../runtime/model-call.ts";
import { type People, personOf } from "../../runtime/people.ts";
import type { RunEvents } from "../../runtime/run-events.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { answerSubagentsCommand } from "../../subagents/chat-command.ts";
import type { Subagents } from "../../subagents/subagents.ts";
import { ancestorsOf } from "../../subagents/tree.ts";
import type { AgentSystemOptions } from "../agent-system-options.ts";
import type { NodeFates } from "../recovery/node-fates.ts";
import type { Trials } from "../recovery/trials.ts";
import { watchdogNotesOf } from "../recovery/watchdog-notes.ts";

export interface ActorHost {
  readonly ports: RunPorts;
  readonly lanes: Lanes;
  readonly node: number;
  readonly restore: "resume" | "discard";
  /** Whether the agents that are claimed now were left by an earlier process. */
  restoring(): boolean;
  readonly startedAt: number;
  /** The other node that this agent's runs belong to, because its commands run there. Undefined: it may work here. */
  elsewhere(agent: AgentRecord): Promise<number | undefined>;
  /** Runs that may have killed a process are tried by these rules (M13). */
  readonly trials: Trials;
  readonly fates: NodeFates;
  /** Whether runs are suspended at their next step and nothing new begins. */
  draining(): boolean;
  readonly emit: Emit;
}

type Given = Pick<ActorHost, "lanes" | "node" | "trials" | "fates" | "restoring" | "draining" | "emit">;

interface HostParts extends Given {
  readonly events: RunEvents;
  readonly subagents: Subagents;
  readonly outbox: Pick<Outbox, "offer">;
  readonly people: Pick<People, "setsRoute" | "addressOf" | "personOf">;
  readonly directory: Directory;
  readonly approvals: Pick<Approvals, "asked">;
  readonly answerCommand: NonNullable<RunPorts["answerCommand"]>;
}

export function actorHostOf(ports: Ports, options: AgentSystemOptions, parts: HostParts): ActorHost {
  const {
    events: _events,
    subagents: _subagents,
    outbox: _outbox,
    people: _people,
    directory: _directory,
    approvals: _approvals,
    answerCommand: _answerCommand,
    ...given
  } = parts;
  const elsewhere = nodeForCommands(ports, options, parts.node);
  return {
    ...given,
    restore: options.settings.current.runs.restore,
    elsewhere,
    startedAt: ports.clock.now(),
    ports: runPortsOf(ports, options, parts),
  };
}

/** `execNode` of an agent: its runs are on that node while it lives. */
const nodeForCommands =
  ({ store, clock }: Ports, { settings, nodeName }: AgentSystemOptions, own: number): ActorHost["elsewhere"] =>
  async (agent) => {
    const wanted = configuredRules(settings.current).nodeOf(agent);
    if (!wanted || isNode(wanted, nodeName)) return undefined;
    const now = clock.now();
    return (await store.nodes()).findLast(
      ({ name, node, left, returned, leaseUntil }) =>
        isNode(wanted, name) && node !== own && !left && !returned && leaseUntil > now,
    )?.node;
  };

function runPortsOf(ports: Ports, options: AgentSystemOptions, parts: HostParts): RunPorts {
  const { hooks, watchdog, watchdogNotes = watchdogNotesOf(ports), settings } = options;
  const { events, subagents, outbox, people, directory, approvals, emit } = parts;
  const whoNow = personNow(directory);
  const shown = options.files && new ShownFiles(ports.store, options.files);
  const asking = approvalPortOf({
    people,
    surroundingsOf: options.rights?.surroundingsOf,
    asked: (dueAt) => approvals.asked(dueAt),
    definitionOf(agent, name) {
      const tool = ports.tools.find(agent, name);
      return tool && modelTool(tool);
    },
  });
  return {
    ...ports,
    model: limitedModel(ports.model, settings),
    watchdog,
    settings,
    events,
    watchdogNotes,
    ...hooks,
    resolveModel: options.resolveModel,
    gate: options.rights && gateFor(ports, options, directory, asking),
    approvals: asking,
    setsRoute: people.setsRoute,
    personOf: people.personOf,
    directory,
    contextLimits: options.contextLimits,
    showFiles: shown && ((agentId, messages) => shown.show(agentId, messages)),
    budgets: () => ({ personNow: whoNow, ...budgetsOf(settings.current) }),
    opsOnRunEnd: async (agent, run, result, deliveries) => [
      ...(isChild(agent) ? await subagents.opsOnRunEnd(agent, run, result) : []),
      ...((await hooks?.opsOnRunEnd?.(agent, run, result, deliveries)) ?? []),
    ],
    opsOnSettle: async (agent, messages, settled) => [
      ...(isChild(agent) ? await subagents.opsOnSettle(agent, messages, settled) : []),
      ...((await hooks?.opsOnSettle?.(agent, messages, settled)) ?? []),
    ],
    onToolOps: (ops) => {
      hooks?.onToolOps?.(ops);
      if (ops.some(({ op }) => op === "approval.withdraw")) emit({ type: "withdrawn" });
    },
    onAddedOps: (ops) => subagents.committed(ops),
    stopChildren: (agent) => subagents.stopChildren(agent),
    aboutChildren: (agent, command) => answerSubagentsCommand(ports, subagents, agent, command),
    answerCommand: parts.answerCommand,
    onDeliveries: (deliveries, results) => outbox.offer(deliveries, results),
    posted: (messages) => {
      for (const posted of messages) emit({ type: "posted", posted });
    },
  };
}

function gateFor(ports: Ports, options: AgentSystemOptions, directory: Directory, asking: ApprovalPort): Gate {
  const { rights, settings } = options;
  return gateOf({
    settings,
    placeOf: rights?.placeOf && ((agent) => rights.placeOf?.(agent) ?? Promise.resolve({})),
    nodeNames: async () => (await ports.store.nodes()).map(({ name }) => name),
    ancestorsOf: (agent) => ancestorsOf(ports.store, agent),
    tools: ports.tools,
    directory,
    digestOf: async (agent, call, effects, runId) =>
      digestOf(call, await asking.surroundingsOf(agent, call, effects, runId)),
    // A swarm's agent has the rights of its contact, and its kind limits it to talking.
    personOf: (agent) =>
      personOf(ports.store, settings.current.identity, agent, { rights: agent.descriptor.type !== "swarm" }),
  });
}

/** Only children report to a requester. */
const isChild = ({ descriptor }: AgentRecord): boolean => descriptor.type === "subagent";
