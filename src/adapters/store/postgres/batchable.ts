/**
 * Plain changes: those whose ops are the everyday ones, so that a whole group of them is applied by one statement per
 * table. Which changes may stand in one plain group is decided here, and how they travel. Whatever is not plain, or turns
 * out not to be, is applied one change after the other.
 */

import { targetKey } from "../../../core/delivery/delivery.ts";
import { isUrgent } from "../../../core/message/message.ts";
import type { Change, Op } from "../../../core/store/change.ts";
import { clean, cleanIfAny } from "./clean-text.ts";
import { locksOf } from "./locks.ts";
import { wireBody } from "./wire-op.ts";

const ONCE: ReadonlySet<Op["op"]> = new Set([
  "entries.append",
  "state.put",
  "message.take",
  "run.open",
  "run.step",
  "run.end",
  "session.begin",
  "leaf.move",
  "agent.release",
]);
const OFTEN: ReadonlySet<Op["op"]> = new Set([
  "message.post",
  "message.settle",
  "delivery.add",
  "delivery.move",
  "fact.put",
]);

/** Ops that have no say in whether an agent may be given back. */
const ASIDE: ReadonlySet<Op["op"]> = new Set(["entries.append", "state.put", "leaf.move", "delivery.add", "fact.put"]);

/** Whether a change can be part of a plain group at all. */
export function isBatchable({ owner, ops }: Change): boolean {
  const seen = new Set<Op["op"]>();
  const named = new Set<string>();
  for (const [index, op] of ops.entries()) {
    if (ONCE.has(op.op)) {
      if (!owner || seen.has(op.op)) return false;
      seen.add(op.op);
    } else if (!OFTEN.has(op.op)) return false;
    if (!owner && (op.op === "message.settle" || op.op === "delivery.add")) return false;
    // An agent that may have to be made, or that may be the owner itself, is not.
    if (op.op === "message.post") {
      if ("agentId" in op.to ? op.to.agentId === owner?.agentId : owner || op.to.create) return false;
    }
    // Twice the same is one after the other.
    const name = op.op === "fact.put" ? `fact ${op.key}` : op.op === "message.post" ? op.dedupe?.key : undefined;
    if (name !== undefined && named.size === named.add(name).size) return false;
    if (op.op === "delivery.move" && (op.toTail || ops.length > 1)) return false;
    // What such a run waited for is forgotten with it.
    if (op.op === "run.end" && op.outcome !== "ok") return false;
    // What is given back is judged by what the ops before it have left.
    if (op.op === "agent.release" && !ops.slice(index + 1).every((later) => ASIDE.has(later.op))) return false;
  }
  if (seen.has("entries.append") && seen.has("leaf.move")) return false;
  if (seen.has("run.open") && (seen.has("run.step") || seen.has("run.end"))) return false;
  return !(seen.has("run.step") && seen.has("run.end"));
}

/** What a plain group holds already, so that no two of its changes get in each other's way. */
export class PlainGroup {
  readonly #owners = new Set<string>();
  readonly #released = new Set<string>();
  readonly #recipients = new Set<string>();
  readonly #names = new Set<string>();

  /** Takes a change into the group, or says that it must wait for the next. */
  takes(change: Change): boolean {
    const { owner, ops } = change;
    const locks = locksOf(change);
    const names = locks.filter(([kind]) => kind === "names").map(([, name]) => name);
    if (names.some((name) => this.#names.has(name)) || new Set(names).size < names.length) return false;
    const recipients = ops.flatMap((op) => (op.op === "message.post" ? [recipientOf(op)] : []));
    const releases = ops.some(({ op }) => op === "agent.release");
    if (owner) {
      if (this.#owners.has(owner.agentId)) return false;
      // Whether an agent may be given back depends on what is posted to it, in the order it was.
      if (releases && this.#recipients.size > 0 && (this.#recipients.has(owner.agentId) || this.#byKey)) return false;
    }
    if (this.#released.size > 0 && recipients.some((to) => this.#released.has(to) || to.includes(":"))) return false;
    if (owner) {
      this.#owners.add(owner.agentId);
      if (releases) this.#released.add(owner.agentId);
    }
    for (const to of recipients) {
      this.#recipients.add(to);
      this.#byKey ||= to.includes(":");
    }
    for (const name of names) this.#names.add(name);
    return true;
  }
  /** Whether anything is addressed by a session key, which may be anybody's. */
  #byKey = false;
}

const recipientOf = (op: Extract<Op, { op: "message.post" }>): string =>
  "agentId" in op.to ? op.to.agentId : `:${op.to.sessionKey}`;

type Rows = Record<string, Readonly<Record<string, unknown>>[]>;

/** A plain group as the database's function takes it: rows per table. */
export function plainWire(changes: readonly Change[]): string {
  const rows: Rows = {};
  const add = (table: string, row: Readonly<Record<string, unknown>>): void => {
    rows[table] ??= [];
    rows[table].push(row);
  };
  changes.forEach((change, i) => {
    wireChange(change, i, add);
  });
  const now = Math.max(...changes.map(({ at }) => Math.trunc(at)));
  return JSON.stringify({ ...rows, now });
}

function wireChange(
  { id, at: time, owner, ops }: Change,
  i: number,
  add: (table: string, row: Readonly<Record<string, unknown>>) => void,
): void {
  const at = Math.trunc(time);
  const agent = owner?.agentId;
  const claims: Record<string, unknown> = {
    i,
    agent,
    node: owner?.node,
    epoch: owner?.epoch,
    session: owner?.sessionId,
    run: owner?.run && clean(owner.run.id),
    step: owner?.run?.step,
    even: owner?.run?.evenAborted ?? false,
    lines: 0,
    gone: 0,
  };
  const touched = new Set<string>(agent ? [agent] : []);
  /** Whose agents only the database knows. */
  let also: "moved" | "posted" | undefined;
  ops.forEach((op, o) => {
    switch (op.op) {
      case "entries.append":
        Object.assign(claims, { pos: op.position, lines: op.lines.length, leaf: clean(op.leaf) });
        op.lines.forEach((line, n) => {
          add("entries", { agent, pos: op.position + n, line: clean(line) });
        });
        break;
      case "leaf.move":
        claims.leaf = clean(op.leaf);
        break;
      case "session.begin":
        claims.begins = op.sessionId;
        break;
      case "state.put":
        add("states", { agent, state: JSON.stringify(op.state) });
        break;
      case "message.take":
        claims.gone = Number(claims.gone) + op.seqs.length;
        claims.unless = op.unlessResetAfter;
        for (const seq of op.seqs) add("taken", { agent, seq, run: clean(op.runId), came: "waiting" });
        break;
      case "message.settle":
        for (const { seq, from, state, runId, reason } of op.settlements) {
          if (from === "waiting") claims.gone = Number(claims.gone) + 1;
          add("settled", {
            agent,
            seq,
            came: from,
            state,
            run: runId && clean(runId),
            reason: reason === undefined ? undefined : clean(reason),
            at,
          });
        }
        break;
      case "run.open":
        claims.opens = clean(op.runId);
        add("opened", { run: clean(op.runId), agent, at, ...wireBody(op.body) });
        break;
      case "run.step":
        claims.steps = clean(op.runId);
        add("stepped", { run: clean(op.runId), agent, attempt: op.attempt ?? 1, came: "open", ...wireBody(op.body) });
        break;
      case "run.end":
        claims.ends = clean(op.runId);
        add("ended", { run: clean(op.runId), agent, outcome: op.outcome, at, came: "open", ...wireBody(op.body) });
        break;
      case "agent.release":
        claims.rel = o;
        break;
      case "delivery.add": {
        const { delivery } = op;
        add("owed", {
          id: clean(delivery.id),
          agent,
          run: delivery.runId && clean(delivery.runId),
          state: delivery.ended?.state,
          at: Math.trunc(delivery.createdAt),
          ended: at,
          reason: delivery.ended && clean(delivery.ended.reason),
          target: clean(targetKey(delivery.target)),
          payload: JSON.stringify(delivery.payload),
        });
        break;
      }
      case "delivery.move":
        also = "moved";
        add("moved", {
          i,
          id: clean(op.id),
          came: op.from,
          attempts: op.attempts,
          state: op.to,
          next: op.nextAt === undefined ? undefined : Math.trunc(op.nextAt),
          reason: op.reason === undefined ? undefined : clean(op.reason),
          receipt: op.receipt === undefined ? undefined : clean(op.receipt),
          node: op.node,
          at,
        });
        break;
      case "fact.put":
        add("facts", {
          key: clean(op.key),
          value: cleanIfAny(op.value ?? undefined),
          expect: op.expect === undefined ? undefined : [op.expect === null ? null : clean(op.expect)],
        });
        break;
      case "message.post": {
        const { body, acceptedAt } = op.message;
        if ("agentId" in op.to) touched.add(op.to.agentId);
        else also = "posted";
        add("posts", {
          i,
          o,
          ...("agentId" in op.to ? { agent: clean(op.to.agentId) } : { key: clean(op.to.sessionKey) }),
          urgent: isUrgent(body),
          reset: body.kind === "reset",
          human: body.kind === "user",
          at: Math.trunc(acceptedAt),
          message: JSON.stringify(op.message),
          dedupe: op.dedupe && clean(op.dedupe.key),
          keep: op.dedupe && Math.trunc(op.dedupe.keepUntil),
          claim: op.claimFor,
        });
        break;
      }
      default:
        break;
    }
  });
  if (owner) add("owners", claims);
  add("changes", { i, id, at, touched: [...touched], ops: ops.length, also });
}
