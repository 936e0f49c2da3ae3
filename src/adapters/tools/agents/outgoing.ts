/** What one agent says to another, as a message: who says it is set here and never read from text; loops end by their hops. */
import { createHash } from "node:crypto";
import { whereItSpeaks } from "../../../core/agent/speaking-target.ts";
import { DeniedError } from "../../../core/errors.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import type { Op, Recipient } from "../../../core/store/change.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { keyOf, type Target } from "./find-target.ts";
import { shortened } from "./long-text.ts";

type SystemBody = Extract<MessageBody, { kind: "system" }>;
type Saying = Pick<ToolContext, "agent" | "runId" | "person">;

/** A message of the calling agent. Throws `DeniedError` where it would be one hop too many. */
export async function bodyFrom(
  deps: AgentToolDeps,
  saying: Saying,
  to: Target,
  text: string,
  silent = false,
): Promise<SystemBody> {
  const { maxCharacters } = deps.config.agentToAgent;
  const body = await wordsOf(deps, saying, text, silent);
  return { ...body, text: await shortened(deps.files, text, { maxCharacters, to: keyOf(to) }) };
}

/** The same with its text as it is, however long. */
export async function wordsOf(
  { store, config }: AgentToolDeps,
  { agent, runId, person }: Saying,
  text: string,
  silent: boolean,
): Promise<SystemBody> {
  const { maxHops } = config.agentToAgent;
  const hops = (await hopsOf(store, { agent, runId })) + 1;
  if (hops > maxHops) {
    throw new DeniedError(`Agents have answered each other ${maxHops} times in a row; this message is not sent.`, {
      hint: "Somebody outside must say something first.",
    });
  }
  return {
    kind: "system",
    text,
    origin: agent.id,
    ...(silent ? { silent } : {}),
    hops,
    ...(person ? { person } : {}),
  };
}

const LOOKED_AT = 20;

/** How many messages between agents led to this run, one after the other. */
async function hopsOf({ run, message }: AgentToolDeps["store"], { agent, runId }: Saying): Promise<number> {
  const seqs = (await run(runId))?.body.seqs.slice(-LOOKED_AT) ?? [];
  const messages = await Promise.all(seqs.map((seq) => message(agent.id, seq)));
  return Math.max(0, ...messages.map((one) => (one?.body.kind === "system" ? (one.body.hops ?? 0) : 0)));
}

/** Posts it in the very commit that records the tool's result (M12). */
export function postTo(deps: AgentToolDeps, to: Target, body: MessageBody): Op {
  const delivery = to.agent && body.kind === "system" && !body.silent ? whereItSpeaks(to.agent) : undefined;
  const message = { body, ...(delivery ? { delivery } : {}), acceptedAt: deps.clock.now() };
  return { op: "message.post", to: recipientOf(deps, to), message };
}

export function recipientOf({ seed }: AgentToolDeps, to: Target): Recipient {
  if (to.agent) return { agentId: to.agent.id };
  return { sessionKey: to.sessionKey, create: seed(to.descriptor, to.profile) };
}

/** The same for a call that is repeated after a crash, another for every other call. */
export function callKey({ runId, callId }: Pick<ToolContext, "runId" | "callId">, input: unknown): string {
  // A model may use an id twice; what it asks for is part of the key.
  const digest = createHash("sha256").update(JSON.stringify(input)).digest("hex").slice(0, 12);
  return `call:${runId}:${callId}:${digest}`;
}
