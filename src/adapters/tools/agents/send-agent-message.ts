/**
 * `send_agent_message`: sends a message to another agent without waiting. The message and the tool's result are one commit, so
 * it is sent once or not at all (M12). The default recipient is the parent, the swarm's contact, or the most recent foreground.
 */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { type ShardAddress, shardAddress, shardTarget } from "../../../core/agent/shard-address.ts";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import {
  DEFAULT_MAX_OUTPUT,
  type EffectContext,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import type { Op } from "../../../core/store/change.ts";
import { checkAllowed } from "../allowed-effects.ts";
import { effectsOn, effectsOnFound } from "./agent-effects.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { findTarget, type Target } from "./find-target.ts";
import { bodyFrom, MAX_SENT_CHARACTERS, postTo, wholeBodyFrom } from "./outgoing.ts";
import { foregroundFor, mayWrite } from "./relations.ts";

const text = z.string().describe("What to say");
const silent = z.boolean().optional().describe("Do not wake the agent: it reads the message in its next run");

const input = z.strictObject({
  text,
  agentId: z
    .string()
    .optional()
    .describe(
      "The recipient: an agent's id, name or session key, or `heartbeat`. Left out: your parent, or the person's agent",
    ),
  silent,
});

const common = { rights: ["send"], replay: "safe", parallel: false, maxOutput: DEFAULT_MAX_OUTPUT } as const;

const NO_FOREGROUND = "No recent foreground agent found.";
const NO_CONTACTS = "No known swarm contacts found. Provide agentId or wait for an inbound message.";
const SENT = "System message sent.";

export const sendAgentMessageTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "send_agent_message",
  description: "Sends a message to another agent and does not wait for an answer.",
  input,
  ...common,
  effects: (given, context) => effectsOfSend(deps, context, given),
  execute: (given, context) => send(deps, context, given),
});

const olderInput = z.strictObject({ text, sessionId: z.string().optional(), silent });

/** The same tool under its old name. */
export const sendSessionMessageTool = (deps: AgentToolDeps): Tool<z.infer<typeof olderInput>> => ({
  name: "send_session_message",
  description: "The older name of send_agent_message.",
  input: olderInput,
  ...common,
  renamed: "send_agent_message",
  effects: ({ sessionId, ...given }, context) => effectsOfSend(deps, context, { ...given, agentId: sessionId }),
  execute: ({ sessionId, ...given }, context) => send(deps, context, { ...given, agentId: sessionId }),
});

const EFFECT = { action: "send_agent_message", rights: ["send"] } as const;

/** To another shard: no one there is known here, so it is never the person's own. */
const effectOnShard = ({ shard, agent }: ShardAddress): Effect => ({ ...EFFECT, target: `shard:${shard}/${agent}` });

const otherShard = (deps: AgentToolDeps, agentId: string | undefined): ShardAddress | undefined =>
  agentId === undefined ? undefined : shardAddress(agentId, deps.shards?.others ?? []);

const targetOf = (deps: AgentToolDeps, context: EffectContext, agentId: string | undefined): Promise<Target> =>
  agentId === undefined ? defaultTarget(deps, context) : findTarget(deps, context.agent, agentId);

async function effectsOfSend(
  deps: AgentToolDeps,
  context: EffectContext,
  { agentId }: Pick<z.infer<typeof input>, "agentId">,
): Promise<readonly Effect[]> {
  const shard = otherShard(deps, agentId);
  return shard ? [effectOnShard(shard)] : effectsOnFound(deps, context, () => targetOf(deps, context, agentId), EFFECT);
}

async function send(
  deps: AgentToolDeps,
  context: ToolContext,
  { text: words, agentId, silent: quiet }: z.infer<typeof input>,
): Promise<ToolOutput> {
  if (words.trim() === "") throw new InvalidInputError("A message needs text.");
  const shard = otherShard(deps, agentId);
  if (shard) return sendToShard(deps, context, shard, words, quiet ?? false);
  const target = await targetOf(deps, context, agentId);
  checkAllowed(context, await effectsOn(deps, context, target, EFFECT));
  await mayWrite(deps, context, target);
  const body = await bodyFrom(deps, context, target, words, quiet);
  return { content: [{ type: "text", text: SENT }], ops: [postTo(deps, target, body), ...countOf(context.agent)] };
}

/** To an agent of another shard: a delivery that the outbox sends after this step's commit (M25). */
async function sendToShard(
  deps: AgentToolDeps,
  context: ToolContext,
  to: ShardAddress,
  words: string,
  quiet: boolean,
): Promise<ToolOutput> {
  const { agent } = context;
  checkAllowed(context, [effectOnShard(to)]);
  if (words.length > MAX_SENT_CHARACTERS) {
    throw new InvalidInputError(`A message to another shard has at most ${MAX_SENT_CHARACTERS} characters.`, {
      hint: "Say it shorter, or in several messages.",
    });
  }
  const body = await wholeBodyFrom(deps, context, words, quiet);
  const text = JSON.stringify({ ...body, origin: `${deps.shards?.name}/${agent.id}`, behalf: context.behalf });
  return {
    content: [{ type: "text", text: SENT }],
    deliveries: [{ target: shardTarget(to), payload: { text } }],
  };
}

/** Counts a swarm's message to its contact. Refused if the contact never wrote to the swarm. */
function countOf({ id, descriptor }: AgentRecord): readonly Op[] {
  if (descriptor.type !== "swarm") return [];
  const { id: nametag, contact } = descriptor;
  return [{ op: "swarm.contact", nametag, contact: contact as AgentId, agentId: id, sent: 1, known: true }];
}

/** The recipient if the agent names none. */
async function defaultTarget(
  { store, settings }: AgentToolDeps,
  { agent: from, behalf }: EffectContext,
): Promise<Target> {
  const { descriptor } = from;
  if (descriptor.type === "swarm") {
    const contact = await store.swarmContact(descriptor.id, descriptor.contact as AgentId);
    const agent = contact && (await store.agent(contact.contact));
    if (agent) return { agent };
    throw new NotFoundError(NO_CONTACTS);
  }
  const known = descriptor.type === "subagent" ? descriptor.parentAgentId : undefined;
  const agent =
    known === undefined
      ? await foregroundFor(store, settings.current, from, behalf?.person)
      : await store.agent(known as AgentId);
  if (agent) return { agent };
  throw new NotFoundError(known === undefined ? NO_FOREGROUND : `Agent not found: ${known}`);
}
