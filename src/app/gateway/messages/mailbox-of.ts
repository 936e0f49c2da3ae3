/** Which mailbox a request reads: the one of the named user, of the token's person, of the owner, or of the token itself. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { API_CHANNEL, apiMailbox, OWNER_MAILBOXES, TERMINAL_CHANNEL } from "../../../core/delivery/route.ts";
import { OWNER } from "../../../core/people/person.ts";
import { holds } from "../../../core/rights/scope.ts";
import type { Mailbox } from "../../../engine/outbox/mailboxes.ts";
import type { People } from "../../../engine/runtime/people.ts";
import { type Principal, ROOT } from "../auth/principal.ts";
import { speakerOf } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";
import { API_CONNECTOR } from "./address.ts";

/** The mailbox of the person an agent works for; undefined if that person is reached by a channel. */
export async function mailboxOfAgent(people: People, agent: AgentRecord): Promise<Mailbox | undefined> {
  const person = await people.personOf(agent);
  if (person === undefined) return undefined;
  if (person === OWNER) return OWNER_MAILBOXES;
  const address = await people.addressOf(person);
  return address.channel === API_CHANNEL ? [address] : undefined;
}

/** Whose mailbox a request names, if any: of an API user, or of someone at the terminal. */
interface NamedReader {
  readonly user?: string;
  readonly terminal?: string;
}

/** Throws a 403 if the token may not read the named mailbox. */
export function mailboxOf(principal: Principal, { user, terminal }: NamedReader): Mailbox {
  const { id, kind, scopes } = principal;
  if (terminal !== undefined) {
    if (kind === "owner" && holds(scopes, "admin")) return [{ channel: TERMINAL_CHANNEL, to: terminal }];
    throw new HttpError(403, "denied", "Only the owner reads the mailbox of the terminal.", { param: "terminal" });
  }
  // The owner reads every mailbox, also those of an application's users.
  if (kind === "owner" && user !== undefined) return [apiMailbox(user)];
  const speaker = speakerOf(principal, user);
  if (speaker) return [apiMailbox(speaker.user)];
  return id === ROOT ? OWNER_MAILBOXES : [{ channel: API_CONNECTOR, accountId: id, to: id }];
}
