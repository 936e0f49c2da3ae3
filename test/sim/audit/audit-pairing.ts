/**
 * Nothing of an unknown account is accepted before it was let in, an account is let in by a code, and a code lets in one account, as
 * the person who got it (L13). Judged by the order in which the store applied changes.
 */
import { OWNER_USER } from "../world/approvers.ts";
import { broken, type View, type Violation } from "./audit-view.ts";

interface Book {
  readonly requests?: readonly { readonly code: string; readonly account: string }[];
  readonly links?: readonly { readonly code: string; readonly person: string }[];
}

export function* pairing({ scenario, applied, linkCodes, channels }: View): Iterable<Violation> {
  if (!scenario.pairing) return;
  const known = new Map<string, string>();
  const users = new Map<string, Set<string>>();
  const texts = new Map(
    channels.flatMap(({ inbound }) => inbound.map((one) => [accountOf(one), one.message] as const)),
  );
  let book: Book = {};
  for (const { change } of applied) {
    for (const op of change.ops) {
      const [person, accounts] =
        op.op === "person.put"
          ? [op.person.id, op.person.accounts]
          : op.op === "fact.put" && op.key === "owner.accounts"
            ? ["owner", JSON.parse(op.value ?? "[]") as string[]]
            : ["", []];
      for (const account of accounts.filter((one) => !known.has(one))) {
        known.set(account, person);
        const said = texts.get(account);
        const typed = said && "text" in said ? /^\/link (\w+)$/u.exec(said.text)?.[1] : undefined;
        const code = book.requests?.find((one) => one.account === account)?.code ?? typed;
        if (code === undefined) yield broken("L13", `${account} was let in as ${person} without a code`);
        else users.set(code, (users.get(code) ?? new Set()).add(account));
        const owner = code === typed ? linkCodes.get(code ?? "") : undefined;
        if (owner !== undefined && owner !== person)
          yield broken("L13", `the code of ${owner} made ${account} an account of ${person}`);
      }
    }
    for (const op of change.ops) {
      if (op.op === "fact.put" && op.key === "pairing") book = JSON.parse(op.value ?? "{}") as Book;
      if (op.op !== "message.post" || op.message.body.kind !== "user" || !op.message.source) continue;
      const user = op.message.body.sender?.id;
      const account = `${op.message.source.connector}:${user}`;
      if (user !== OWNER_USER && !known.has(account))
        yield broken("L13", `a message of ${account} was accepted before anyone let them in`);
    }
  }
  for (const [code, accounts] of users) {
    if (accounts.size > 1) yield broken("L13", `the code ${code} let in ${[...accounts].join(" and ")}`);
  }
}

const accountOf = ({
  message,
}: {
  readonly message: { readonly connector: string; readonly userId: string };
}): string => `${message.connector}:${message.userId}`;
