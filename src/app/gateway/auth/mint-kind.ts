/** The kind of a token that is minted: what its minter is, and what was asked for, decide. A minted token never reaches more people. */
import { DeniedError, InvalidInputError } from "../../../core/errors.ts";
import { isRecordId } from "../../../core/people/person.ts";
import { type Scope, within } from "../../../core/rights/scope.ts";
import type { Principal } from "./principal.ts";
import type { TokenRecord } from "./token-file.ts";

interface WantedKind {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly person?: string;
  readonly app?: string;
}

type Kind = Pick<TokenRecord, "kind" | "person" | "app">;

/** Of tokens that see only their own: `chat` sends and reads, `read` reads. */
const CONFINED: readonly Scope[] = ["read", "chat"];

/** `known`: all tokens; `id`: of the new one. */
export function kindToMint(by: Principal, wanted: WantedKind, known: readonly TokenRecord[], id: string): Kind {
  const { person, app } = wanted;
  if (person !== undefined && app !== undefined) {
    throw new InvalidInputError("A token belongs to an application or to a person, not to both.");
  }
  switch (by.kind) {
    case "person":
      if (app === undefined && person === by.person) return { kind: "person", person };
      throw new DeniedError("A token for one person can mint tokens for that person only.");
    case "application":
      if (person === undefined && (app === undefined || app === by.app)) return { kind: "application", app: by.app };
      throw new DeniedError(`A token of the application ${by.app} can mint tokens for that application only.`);
    case "old":
      // Its tokens stay among the names that it can reach.
      if (app === undefined && person === by.user) return { person };
      throw new DeniedError(
        by.user === undefined
          ? "A token that belongs to no one cannot mint a token for an application or a person."
          : "A token for one person can mint tokens for that person only.",
        { hint: "Mint it as the owner: `rookery people tokens add NAME`." },
      );
    case "owner":
      return ownersChoice(wanted, known, id);
  }
}

function ownersChoice({ name, scopes, person, app }: WantedKind, known: readonly TokenRecord[], id: string): Kind {
  const isConfined = person !== undefined || app !== undefined;
  if (isConfined && !within(CONFINED, scopes)) {
    throw new InvalidInputError("A token of a person or an application has the scopes chat or read.", {
      hint: "Tokens with the scopes operate and admin are the owner's.",
    });
  }
  if (person !== undefined) {
    if (isRecordId(person)) return { kind: "person", person };
    throw new InvalidInputError(`"${person.slice(0, 100)}" is not the id of a person.`, {
      hint: "An id has 1 to 64 lower-case letters, digits, dots or dashes, and is not owner. `rookery people` lists them.",
    });
  }
  if (app !== undefined) {
    if (isRecordId(app)) return { kind: "application", app };
    throw new InvalidInputError(`"${app.slice(0, 100)}" is not the name of an application.`, {
      hint: "A name has 1 to 64 lower-case letters, digits, dots or dashes, and is not owner.",
    });
  }
  return scopes.includes("chat") && within(CONFINED, scopes)
    ? { kind: "application", app: freeName(name, known, id) }
    : { kind: "owner" };
}

/** The token's name as the name of an application. Another token's application is shared only if that was asked for. */
function freeName(name: string, known: readonly TokenRecord[], id: string): string {
  const plain = name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "")
    .slice(0, 48);
  if (!isRecordId(plain)) return id;
  return known.some(({ app }) => app === plain) ? `${plain}.${id}` : plain;
}
