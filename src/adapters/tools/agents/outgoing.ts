/** Messages between agents. The sender is set here and never read from text; a limit of hops ends loops. */
import { createHash } from "node:crypto";
import { whereItSpeaks } from "../../../core/agent/speaking-target.ts";
import { DeniedError } from "../../../core/errors.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import type { Op, Recipient } from "../../../core/store/change.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { keyOf, type Target } from "./find-target.ts";
import { shortened } from "./long-text.ts";
import { isUntrustedFor } from "./text-of-agent.ts";

type SystemBody = Extract<MessageBody, { kind: "system" }>;
type Sender = Pick<ToolContext, "agent" | "runId" | "person" | "behalf">;

/** A longer text goes to a file; its start and a reference are sent. */
export const MAX_SENT_CHARACTERS = 8_000;
/** How long a call waits for the answer of another agent by default. */
export const ANSWER_SECONDS = 30;
/** The longest chain of messages between agents. */
const MAX_HOPS = 32;

/** A message of the calling agent; a long text goes into a file. Throws `DeniedError` at the limit of hops. */
export async function bodyFrom(
  deps: AgentToolDeps,
  sender: Sender,
  to: Target,
  text: string,
  silent = false,
): Promise<SystemBody> {
  const body = await wholeBodyFrom(deps, sender, text, silent);
  const untrusted = isUntrustedFor(sender, to.agent);
  return {
    ...body,
    text: await shortened(deps.files, text, { maxCharacters: MAX_SENT_CHARACTERS, to: keyOf(to), untrusted }),
  };
}

/** The same with its whole text. */
export async function wholeBodyFrom(
  { store }: AgentToolDeps,
  { agent, runId, person }: Sender,
  text: string,
  silent: boolean,
): Promise<SystemBody> {
  const hops = (await hopsOf(store, { agent, runId })) + 1;
  if (hops > MAX_HOPS) {
    throw new DeniedError(`Agents have answered each other ${MAX_HOPS} times in a row; this message is not sent.`, {
      hint: "A message from outside must come first.",
    });
  }
  return { kind: "system", text, origin: agent.id, silent: silent || undefined, hops, person: person || undefined };
}

const MAX_MESSAGES_READ = 20;

/** How many messages between agents in a row led to this run. */
async function hopsOf({ run, message }: AgentToolDeps["store"], { agent, runId }: Sender): Promise<number> {
  const seqs = (await run(runId))?.body.seqs.slice(-MAX_MESSAGES_READ) ?? [];
  const messages = await Promise.all(seqs.map((seq) => message(agent.id, seq)));
  return Math.max(0, ...messages.map((one) => (one?.body.kind === "system" ? (one.body.hops ?? 0) : 0)));
}

/** Posted in the commit of the tool's result (M12). */
export function postTo(deps: AgentToolDeps, to: Target, body: MessageBody): Op {
  const delivery = to.agent && body.kind === "system" && !body.silent ? whereItSpeaks(to.agent) : undefined;
  const message = { body, delivery, acceptedAt: deps.clock.now() };
  return { op: "message.post", to: recipientOf(deps, to), message };
}

function recipientOf({ seed }: AgentToolDeps, to: Target): Recipient {
  if (to.agent) return { agentId: to.agent.id };
  return { sessionKey: to.sessionKey, create: seed(to.descriptor, to.profile) };
}

/** The same key for a call that is repeated after a crash, a different one for every other call. */
export function callKey({ runId, callId }: Pick<ToolContext, "runId" | "callId">, input: unknown): string {
  // Call ids are unique within a run. Runs of earlier versions may have one twice, so the input is part of the key.
  const digest = createHash("sha256").update(JSON.stringify(input)).digest("hex").slice(0, 12);
  return `call:${runId}:${callId}:${digest}`;
}
