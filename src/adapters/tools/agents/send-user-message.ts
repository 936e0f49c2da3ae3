/**
 * `send_user_message`: sends a message to a swarm. The contact is the agent at the top of the sender's tree. Each contact gets
 * its own agent of the swarm, and the swarm knows the contact from then on.
 */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import type { SwarmRecord } from "../../../core/agent/swarm.ts";
import {
  DeniedError,
  errorText,
  InvalidInputError,
  NotFoundError,
  SuspendedError,
  TimeoutError,
} from "../../../core/errors.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import type { Op } from "../../../core/store/change.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { answerMarks } from "./answer-marks.ts";
import { keyOf, permanentNamed, type Target } from "./find-target.ts";
import { textOutput } from "./json-output.ts";
import { ANSWER_SECONDS, bodyFrom, callKey, postTo } from "./outgoing.ts";
import { rootOf } from "./relations.ts";

const input = z.strictObject({
  text: z.string().describe("What to say"),
  nametag: z.string().describe("The swarm's name"),
  wait: z.boolean().optional().describe("Wait for the answer"),
});
type Input = z.infer<typeof input>;

export const sendUserMessageTool = (deps: AgentToolDeps): Tool<Input> => ({
  name: "send_user_message",
  description: "Sends a message to a swarm, an agent published under a name.",
  input,
  rights: ["send"],
  replay: "safe",
  parallel: false,
  maxOutput: 40_000,
  async execute(given, context) {
    const { agent } = context;
    if (agent.descriptor.type === "swarm")
      throw new DeniedError("Can only message agents that have contacted this swarm");
    if (given.text.trim() === "") throw new InvalidInputError("A message needs text.");
    const nametag = given.nametag.trim().replace(/^@/u, "").toLowerCase();
    const swarm = await swarmNamed(deps, agent, nametag);
    const contact = await rootOf(deps.store, agent);
    const target = await swarmAgentFor(deps, swarm, contact);
    const body = await bodyFrom(deps, context, target, given.text);
    const known = { op: "swarm.contact", nametag, contact: contact.id } as const;
    if (given.wait) return ask(deps, context, given, target, known, body);
    const received: Op = { ...known, received: 1, agentId: target.agent?.id };
    return { ...textOutput(`Message sent to swarm @${nametag}.`), ops: [postTo(deps, target, body), received] };
  },
});

async function swarmNamed(deps: AgentToolDeps, from: AgentRecord, nametag: string): Promise<SwarmRecord> {
  const swarm = await deps.store.swarm(nametag);
  if (swarm) return swarm;
  if (await permanentNamed(deps, from, nametag)) throw new InvalidInputError(`Target is not a swarm: ${nametag}`);
  throw new NotFoundError(`User not found for nametag: ${nametag}`);
}

/** The swarm's agent for one contact, created by the first message. The key contains both, so contacts never share one. */
async function swarmAgentFor(
  { store }: AgentToolDeps,
  { nametag, profile }: SwarmRecord,
  contact: AgentRecord,
): Promise<Target> {
  const descriptor = { type: "swarm", id: nametag, contact: contact.id } as const;
  const sessionKey = sessionKeyOf(descriptor, profile);
  const agent = await store.agentByKey(sessionKey);
  return agent ? { agent } : { descriptor, profile, sessionKey };
}

async function ask(
  deps: AgentToolDeps,
  context: ToolContext,
  given: Input,
  target: Target,
  known: Extract<Op, { op: "swarm.contact" }>,
  body: Parameters<AgentToolDeps["ask"]>[0]["body"],
): Promise<ToolOutput> {
  const key = callKey(context, given);
  const to = target.agent ? { agentId: target.agent.id } : { descriptor: target.descriptor, profile: target.profile };
  const { agentId: from, signal } = context;
  const timeoutMs = ANSWER_SECONDS * 1000;
  const endWait: Op[] = [{ op: "wait.end", id: key }];
  try {
    // The contact is recorded with the message, the count with the result: a repeated call counts once.
    const { result, ended } = await deps.ask({ from, to, body, key, timeoutMs, signal, also: [known] });
    const reply =
      result?.payloads.flatMap(({ text }) => text ?? []).join("\n") ?? `The message was not answered: ${ended?.state}.`;
    const agentId = result?.agentId;
    return {
      ...textOutput(`${reply}\n\nSwarm agent id: ${agentId ?? "unknown"}`),
      isError: result?.outcome === "ok" ? undefined : true,
      ops: [...endWait, { ...known, received: 1, agentId }],
      ...(await answerMarks(deps, context, keyOf(target), result)),
    };
  } catch (error) {
    if (error instanceof SuspendedError) throw error;
    const timedOut = error instanceof TimeoutError;
    return {
      ...textOutput(errorText(error)),
      isError: true,
      ops: timedOut ? [...endWait, { ...known, received: 1 }] : endWait,
    };
  }
}
