/**
 * Creates a permanent agent for a person, or changes the one of that name. It is changed by a message, so that earlier messages
 * are still answered with the old prompt.
 */
import { type AgentRecord, DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { sessionKeyOf } from "../../core/agent/session-key.ts";
import { defined } from "../../core/defined.ts";
import { ConflictError } from "../../core/errors.ts";
import type { AgentId, SessionKey } from "../../core/ids.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import { seedAgent } from "../context/seed-agent.ts";
import type { People } from "../runtime/people.ts";
import type { MessageIngress } from "./message-ingress.ts";

export interface WantedPermanent {
  readonly name: string;
  readonly description: string;
  readonly systemPrompt: string;
  readonly username?: string;
  readonly profile?: string;
}

export interface PutPermanent {
  readonly agentId: AgentId;
  readonly sessionKey: SessionKey;
  /** False: it exists and is changed in the order of its inbox. */
  readonly created: boolean;
}

interface PutPermanentParts {
  readonly ports: Ports;
  readonly ingress: Pick<MessageIngress, "post">;
  readonly people: Pick<People, "personOfNew">;
}

/** Durable when it resolves. `also` is committed with it. */
export async function putPermanent(
  { ports, ingress, people }: PutPermanentParts,
  wanted: WantedPermanent,
  behalf: Behalf,
  also: (done: PutPermanent) => readonly Op[],
): Promise<PutPermanent> {
  const { ids, clock, store } = ports;
  const { name, description, systemPrompt, username, profile = DEFAULT_PROFILE } = wanted;
  const id = ids.agent();
  const descriptor: AgentDescriptor = {
    ...{ type: "permanent", id, name, description, systemPrompt },
    ...defined({ username }),
  };
  const known = await store.agentByKey(sessionKeyOf(descriptor, profile));
  if (known) {
    assertChangeable(known, name);
    const done = { agentId: known.id, sessionKey: known.sessionKey, created: false };
    const body = { kind: "describe", by: behalf.person, description, systemPrompt, username } as const;
    await ingress.post({ to: { agentId: known.id }, body, behalf, also: also(done) });
    return done;
  }
  const made = { ...seedAgent(ids, descriptor, clock.now(), profile), id };
  const seed = { ...made, person: await people.personOfNew(made, behalf) };
  const done = { agentId: id, sessionKey: seed.sessionKey, created: true };
  const committed = await submit(ports, "agent.create", [{ op: "agent.create", seed, fresh: true }, ...also(done)]);
  if (!committed.ok) throw new ConflictError(committed.detail, { hint: "Send the request again." });
  return done;
}

function assertChangeable({ descriptor, stopped }: AgentRecord, name: string): void {
  if (stopped?.removing || stopped?.removed) {
    throw new ConflictError(`The agent ${name} is being removed.`, { hint: "Try again when it is gone." });
  }
  if (descriptor.type !== "permanent" || descriptor.name.toLowerCase() === name.toLowerCase()) return;
  throw new ConflictError(`The permanent agent ${descriptor.name} has the same address.`, {
    hint: "Choose a name that differs in letters or digits.",
  });
}
