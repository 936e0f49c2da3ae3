/** What the gateway adds to the messages of people who write with a token: the limits of the token and of those above it. */

import { UsageLimiter } from "../../../src/app/gateway/auth/usage-limiter.ts";
import type { Limit } from "../../../src/core/budget/budget.ts";
import { accountOf } from "../../../src/core/people/person.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { CommitResult, Op } from "../../../src/core/store/change.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { TODAY } from "../world/today.ts";
import { type TokenTree, tokensAbove } from "../world/token-tree.ts";

const said = ({ tokens, micros, messages }: Limit) => ({
  tokensPerDay: tokens,
  dollarsPerDay: micros === undefined ? undefined : micros / 1e6,
  messagesPerDay: messages,
});

export function withTokenLimits(ports: Ports, tree: TokenTree): Ports {
  const limiter = new UsageLimiter(ports, { limits: () => ({ perToken: {}, perPerson: {} }), dayOf: () => TODAY });
  const limited = (op: Op): Op => {
    if (op.op !== "message.post" || op.message.body.kind !== "user" || !op.message.source) return op;
    const { source, body } = op.message;
    const user = body.sender?.id ?? source.channelId ?? "";
    const [own, ...above] = tokensAbove(tree, user).map(({ id, limit }) => ({ id, limits: said(limit) }));
    if (!own) return op;
    const { person = accountOf(source.connector, user), ...behalf } = op.message.behalf ?? {};
    const limits = limiter.dayLimitsOf({ ...own, above }, undefined);
    return { ...op, message: { ...op.message, behalf: { ...behalf, person, limits } } };
  };
  const { store } = ports;
  // The program must read the message as it was stored.
  const unread = (result: CommitResult): CommitResult => {
    if (!result.ok) return result;
    const results = result.results.map((one) => (one?.op === "message.post" ? { ...one, alone: undefined } : one));
    return { ...result, results };
  };
  const commit: Store["commit"] = async (change) =>
    unread(await store.commit({ ...change, ops: change.ops.map(limited) }));
  const outcome: Store["outcome"] = async (id) => {
    const known = await store.outcome(id);
    return known && unread(known);
  };
  return { ...ports, store: { ...store, commit, outcome } };
}
