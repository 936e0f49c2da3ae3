/**
 * Who speaks in a request: the token's person, or the user that it names, inside the names of the token. Two tokens that name the
 * same `user` mean two people, unless they belong to one application, or both are older than these kinds.
 */
import { API_CHANNEL } from "../../../core/delivery/route.ts";
import { isReservedUser, personOfApiUser } from "../../../core/people/api-user.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { accountOf, appUser, OWNER, type PersonId } from "../../../core/people/person.ts";
import { HttpError } from "../http/http-error.ts";
import type { Principal } from "./principal.ts";

export interface Speaker {
  readonly person: PersonId;
  /** The speaker's name on the API's channel: of the conversation and of the mailbox. */
  readonly user: string;
}

type Token = Pick<Principal, "kind" | "person" | "app" | "user">;

/** The speaker of a request that names this `user`; undefined if it names no one and the token does not either. */
export function speakerOf(token: Token, named: string | undefined): Speaker | undefined {
  if (named !== undefined) assertNameable(named);
  switch (token.kind) {
    case "person":
      return named === undefined || named === token.person ? speakerFor(`person:${token.person}`) : denyOther();
    case "application":
      return named === undefined ? undefined : speakerFor(appUser(token.app ?? "", named));
    case "old": {
      const user = token.user ?? named;
      if (named !== undefined && named !== user) return denyOther();
      return user === undefined ? undefined : speakerNamed(user);
    }
    case "owner":
      return named === undefined ? undefined : speakerNamed(named);
  }
}

/** The person of a request that is no one's message: the token's person. An old token acts for an account of its own. */
export const behalfOf = ({ person, id }: Pick<Principal, "person" | "id">): Behalf => ({
  person: person ?? accountOf(API_CHANNEL, id),
});

/** The speaker of a conversation that no `user` is named for. `fresh` is a new name. */
export function unnamedSpeaker(token: Token, fresh: string): Speaker {
  if (token.kind === "application") return speakerFor(appUser(token.app ?? "", fresh));
  return token.kind === "owner" ? { person: OWNER, user: fresh } : speakerFor(fresh);
}

const speakerFor = (user: string): Speaker => ({ person: personOfApiUser(user), user });

/** A user of the names that the owner's tokens and the old tokens share. */
function speakerNamed(user: string): Speaker {
  if (!isReservedUser(user)) return speakerFor(user);
  throw new HttpError(400, "invalid_input", "A `user` cannot begin with app: or person: here.", {
    param: "user",
    hint: "Mint a token for that application or person (`rookery people tokens add --app NAME`, or `--person NAME`).",
  });
}

/** Signs that cannot be stored unchanged would let two names become one. */
function assertNameable(user: string): void {
  if (user.isWellFormed() && !/\p{Cc}/u.test(user)) return;
  throw new HttpError(400, "invalid_input", "The `user` has characters that a name cannot have.", { param: "user" });
}

function denyOther(): never {
  throw new HttpError(403, "denied", "This token belongs to another person than the `user` of the request.", {
    param: "user",
    hint: "Leave `user` out, or use a token of an application.",
  });
}
