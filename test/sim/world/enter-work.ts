/** Schedules the messages of people and other programs. */
import type { AgentRecord } from "../../../src/core/agent/agent.ts";
import type { ChangeId } from "../../../src/core/ids.ts";
import type { Op } from "../../../src/core/store/change.ts";
import { seedAgent } from "../../../src/engine/context/seed-agent.ts";
import { seededIds } from "../../kit/ids.ts";
import type { World } from "./build-world.ts";
import type { Channel } from "./channel.ts";
import type { Nodes } from "./nodes.ts";
import { tokenText } from "./tokens.ts";
import type { WorkItem } from "./workload.ts";

type System = Extract<WorkItem, { kind: "system" }>;
type Child = Extract<WorkItem, { kind: "child" }>;

/** Schedules everything the workload holds. */
export function scheduleWork(world: World, nodes: Nodes): void {
  for (const item of world.workload.items) world.scheduler.after(item.at, () => enterWork(world, nodes, item));
}

function enterWork(world: World, nodes: Nodes, item: WorkItem): void {
  if (item.kind === "system" || item.kind === "child") return void postBeside(world, nodes, item);
  const channel = world.channels.find(({ name }) => name === item.conversation.channel) as Channel;
  channel.write(item.message, item.kind === "message" ? item.token : undefined);
}

/** Posts as another program on the same store: the message has no connector, and no channel gets the answer. */
async function postBeside(world: World, nodes: Nodes, item: System | Child): Promise<void> {
  const { backend, scheduler, log } = world;
  const { user, channel } = item.conversation;
  const agent = (await backend.reader.agents({ limit: 1_000 })).find(
    ({ descriptor }) => descriptor.type === "user" && descriptor.connector === channel && descriptor.channelId === user,
  );
  if (!agent) return void scheduler.after(500, () => void postBeside(world, nodes, item));
  const at = nodes.wall("a");
  const ops = item.kind === "system" ? systemOps(item, agent, at) : childOps(world, item, agent, at);
  const site = item.kind === "system" ? "world.post" : "world.child";
  backend.apply([{ id: `world-${item.token}` as ChangeId, site, at, ops }]);
  log.write("world", item.kind === "system" ? `posts ${item.token}` : `starts a child for ${item.token}`);
}

function systemOps({ token, silent }: System, { id: agentId }: AgentRecord, acceptedAt: number): readonly Op[] {
  const body = { kind: "system", text: tokenText(token), silent } as const;
  return [{ op: "message.post", to: { agentId }, message: { body, acceptedAt } }];
}

/** Creates a child of an agent and posts its task. */
function childOps({ random }: World, item: Child, parent: AgentRecord, acceptedAt: number): readonly Op[] {
  const { token, directives } = item;
  const descriptor = { type: "subagent", id: token, parentAgentId: parent.id, name: token } as const;
  const seed = seedAgent(seededIds(token, random.fork(`child/${token}`)), descriptor, acceptedAt);
  const body = { kind: "system", text: [tokenText(token), ...directives].join(" ") } as const;
  return [
    { op: "agent.create", seed },
    { op: "message.post", to: { agentId: seed.id }, message: { body, acceptedAt } },
  ];
}
