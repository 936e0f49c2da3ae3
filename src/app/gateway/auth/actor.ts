/** Who a request acts for, as rights and the audit log name them. */
import { OWNER as OWNER_ID } from "../../../core/people/person.ts";
import { holds } from "../../../core/rights/scope.ts";
import type { Actor } from "../../../engine/people/audit-entry.ts";
import { HttpError } from "../http/http-error.ts";
import type { Principal, Surface } from "./principal.ts";

/** Whether a request is the owner's: a token of one person or of an application is not, with any scopes. */
export const isOwners = ({ kind, scopes }: Principal): boolean => kind === "owner" && holds(scopes, "operate");

/** Throws a 403. */
export function assertOwner(principal: Principal): void {
  if (isOwners(principal)) return;
  throw new HttpError(403, "denied", "Only the owner may do this.", {
    hint: "Use a token of the owner, or the command line on the machine of the engine.",
  });
}

export const actorOf = (principal: Principal, surface: Surface): Actor => ({
  person: principal.person ?? (isOwners(principal) ? OWNER_ID : `token:${principal.id}`),
  surface: surface === "control" ? "control" : "api",
  token: surface === "control" ? undefined : principal.id,
});
