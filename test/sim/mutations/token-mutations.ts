/** The limits of token trees, each rule broken through the ports. */
import type { Op } from "../../../src/core/store/change.ts";
import { rewriting } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

type Post = Extract<Op, { op: "message.post" }>;
type Reserve = Extract<Op, { op: "budget.reserve" }>;

const posting = (change: (post: Post) => Post) => rewriting((op) => (op.op === "message.post" ? change(op) : op));
const reserving = (change: (reserve: Reserve) => Reserve) =>
  rewriting((op) => (op.op === "budget.reserve" ? change(op) : op));

/** A message with other limits. */
function limitedBy(post: Post, change: (limits: readonly object[]) => readonly object[] | undefined): Post {
  const { behalf } = post.message;
  if (!behalf?.limits) return post;
  const limits = change(behalf.limits) as NonNullable<typeof behalf.limits> | undefined;
  return { ...post, message: { ...post.message, behalf: { ...behalf, limits } } };
}

const common = { scenario: "token-tree" } as const;

export const TOKEN_MUTATIONS: readonly Mutation[] = [
  {
    ...common,
    name: "minter uncharged",
    about: "what a token spends does not count for the token that minted it",
    law: "L8",
    ports: posting((post) => limitedBy(post, (limits) => limits.slice(0, 1))),
  },
  {
    ...common,
    name: "limits left behind",
    about: "children and reports do not count for the token that their request came with",
    law: "L8",
    ports: posting((post) => (post.message.source ? post : limitedBy(post, () => undefined))),
  },
  {
    ...common,
    name: "token unreserved",
    about: "calls are not reserved on the rows of tokens",
    law: "L8",
    ports: reserving((op) => ({ ...op, rows: op.rows.filter(({ key }) => !key.startsWith("token:")) })),
  },
  {
    ...common,
    name: "settled twice",
    about: "the cost of a call is counted twice",
    law: "M21",
    ports: rewriting((op) =>
      op.op === "budget.settle" && op.actual !== "unknown"
        ? { ...op, actual: { tokens: 2 * op.actual.tokens, micros: 2 * op.actual.micros } }
        : op,
    ),
  },
  {
    ...common,
    name: "message uncounted",
    about: "messages of people are not counted",
    law: "L8",
    ports: reserving((op) => ({ ...op, rows: op.rows.filter(({ adds }) => adds === undefined) })),
  },
  {
    ...common,
    name: "message counted again",
    from: 4,
    about: "a run that a crash interrupted does not know that its messages are counted",
    law: "M21",
    ports: reserving(({ counted: _, ...op }) => op),
  },
];
