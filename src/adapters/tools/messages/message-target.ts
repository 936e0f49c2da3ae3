/** Where a message of a tool goes: the conversation of the run, or another address that the person has a right to. */
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { EffectContext, ToolContext } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";

export interface MessageToolDeps {
  /** Whose account it is now. */
  personOf(account: PersonId): Promise<PersonId>;
  /** The message that a run answers, as its channel calls it. */
  answeredBy(runId: string): Promise<string | undefined>;
  /** Whether a connector has this channel. */
  has(channel: string): boolean;
  now(): number;
}

const TO = /^([a-z][\w.-]{0,63})(?:@([\w.-]{1,64}))?:(\S{1,200})$/iu;

/** `telegram:42`, or `telegram@work:42` for the account `work`. */
export function parseTo(to: string): DeliveryContext & { readonly channel: string; readonly to: string } {
  const [, channel, accountId, id] = TO.exec(to.trim()) ?? [];
  if (channel === undefined || id === undefined) {
    throw new InvalidInputError(`"${to.slice(0, 100)}" is not an address.`, { hint: "Write it as telegram:42." });
  }
  return { channel, accountId, to: id };
}

export function targetOf({ has }: MessageToolDeps, to: string | undefined, context: ToolContext): DeliveryContext {
  if (to === undefined) {
    const own = context.delivery ?? context.agent.state.deliveryContext;
    if (own) return own;
    throw new InvalidInputError("This run answers no one, so a message needs an address.", { hint: "Pass `to`." });
  }
  const target = parseTo(to);
  if (has(target.channel)) return target;
  throw new InvalidInputError(`There is no channel ${target.channel}.`, {
    hint: "`rookery channels list` lists them.",
  });
}

/** The effect of writing to an address: for its own person it needs no grant. */
export async function effectsOf(
  deps: MessageToolDeps,
  action: string,
  to: string | undefined,
  _: EffectContext,
): Promise<readonly Effect[]> {
  if (to === undefined) return [];
  const { channel, to: id } = parseTo(to);
  const account = (id.startsWith("-") ? `${channel}:group:${id}` : `${channel}:${id}`) as PersonId;
  return [{ action, rights: ["send"], target: account, of: await deps.personOf(account) }];
}
