/** The tables `messages` and `dedupe`: the inbox. Reads, and how ops on it are sent. */
import type { AgentId } from "../../../core/ids.ts";
import { isFromPerson, isUrgent } from "../../../core/message/message-order.ts";
import type { RequestEntry } from "../../../core/store/request.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type MessageRow, messageOf } from "../rows.ts";
import { seedLocks, wireSeed } from "./agents.ts";
import type { Statement } from "./batched-reads.ts";
import { clean, cleanIfAny } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type Lock, type OpForms, type OpOf, type Wire, whole } from "./op-form.ts";
import { requestLocks } from "./requests.ts";

const COLUMNS = "seq, state, accepted_at, settled_at, run_id, reason, message";
const SELECT: Statement = {
  name: "select-message",
  types: ["text", "bigint"],
  text: `SELECT ${COLUMNS} FROM messages WHERE agent = $1 AND seq = $2`,
};
const SELECT_BACK: Statement = {
  name: "select-messages",
  text: `SELECT ${COLUMNS} FROM messages
WHERE agent = $1 AND seq < $2 AND ($3::text[] IS NULL OR state = ANY ($3::text[])) ORDER BY seq DESC LIMIT $4`,
};
const SELECT_WAITING: Statement = {
  name: "select-waiting",
  types: ["text", "bigint", "bigint"],
  text: `SELECT ${COLUMNS} FROM messages
WHERE agent = $1 AND seq > greatest((SELECT cursor FROM agents WHERE id = $1), $2::bigint) AND state = 'waiting'
ORDER BY seq LIMIT $3`,
};
const SELECT_WAITING_URGENT: Statement = {
  name: "select-waiting-urgent",
  types: ["text", "bigint", "bigint"],
  text: `SELECT ${COLUMNS} FROM messages
WHERE agent = $1 AND seq > greatest((SELECT cursor FROM agents WHERE id = $1), $2::bigint) AND urgent AND state = 'waiting'
ORDER BY seq LIMIT $3`,
};

const SELECT_UNANSWERED: Statement = {
  name: "select-unanswered",
  text: `SELECT agent AS agent_id, ${COLUMNS} FROM messages
WHERE state IN ('dropped', 'failed', 'aborted', 'discarded') AND state = ANY ($1::text[])
  AND (settled_at, agent, seq) < ($2::bigint, $3::text COLLATE "C", $4::bigint)
ORDER BY settled_at DESC, agent DESC, seq DESC LIMIT $5`,
};

export function messageReads(
  connections: Connections,
): Pick<StoreReader, "message" | "messages" | "waiting" | "unanswered"> {
  return {
    unanswered: async ({ limit, states, before }) => {
      const { at = Number.MAX_SAFE_INTEGER, agentId = "", seq = 0 } = before ?? {};
      const rows = await connections.all<MessageRow & { agent_id: AgentId }>(
        SELECT_UNANSWERED,
        states,
        at,
        agentId,
        seq,
        limit,
      );
      return rows.map((row) => messageOf(row.agent_id, row));
    },
    message: async (agentId, seq) => {
      const row = await connections.one<MessageRow>(SELECT, agentId, seq);
      return row && messageOf(agentId, row);
    },
    messages: async (agentId, { beforeSeq = Number.MAX_SAFE_INTEGER, limit, states }) => {
      const rows = await connections.all<MessageRow>(SELECT_BACK, agentId, beforeSeq, states ?? null, limit);
      return rows.map((row) => messageOf(agentId, row));
    },
    waiting: async (agentId, { afterSeq = 0, limit, urgent }) => {
      const statement = urgent ? SELECT_WAITING_URGENT : SELECT_WAITING;
      const rows = await connections.all<MessageRow>(statement, agentId, afterSeq, limit);
      return rows.map((row) => messageOf(agentId, row));
    },
  };
}

/** `digest` tells a request with a key from one without. */
const wireRequest = (entry: RequestEntry): Wire => ({
  request: clean(entry.key),
  digest: entry.by === "key" ? clean(entry.digest) : undefined,
  retry: (entry.by === "content" && entry.isRetry) || undefined,
});

function wirePost({ to, message, dedupe, request, maxWaiting, claimFor }: OpOf<"message.post">): Wire {
  const { body, acceptedAt } = message;
  const recipient =
    "agentId" in to ? { to: clean(to.agentId) } : { key: clean(to.sessionKey), seed: to.create && wireSeed(to.create) };
  return {
    ...recipient,
    urgent: isUrgent(body) || undefined,
    reset: body.kind === "reset" || undefined,
    human: body.kind === "user" || undefined,
    person: isFromPerson(body) || undefined,
    at: whole(acceptedAt),
    message: JSON.stringify(message),
    dedupe: dedupe && clean(dedupe.key),
    keep: dedupe && whole(dedupe.keepUntil),
    ...(request && wireRequest(request)),
    requestKeep: request && whole(request.keepUntil),
    maxWaiting,
    claim: claimFor,
  };
}

function postLocks({ to, dedupe, request }: OpOf<"message.post">): readonly Lock[] {
  const recipient: readonly Lock[] =
    "agentId" in to
      ? [["agents", clean(to.agentId)]]
      : [["keys", clean(to.sessionKey)], ...(to.create ? seedLocks(to.create) : [])];
  return [
    ...recipient,
    ...(dedupe ? [["names", `dedupe ${clean(dedupe.key)}`] as const] : []),
    ...(request ? requestLocks(request) : []),
  ];
}

export const messageOps: OpForms<
  "message.post" | "message.take" | "message.settle" | "message.tried" | "message.drop"
> = {
  "message.post": {
    wire: wirePost,
    locks: postLocks,
    batch: ({ to, message, dedupe, request, maxWaiting, claimFor }, batched, o) => {
      const { body, acceptedAt } = message;
      const isById = "agentId" in to;
      if (isById) batched.touched.add(to.agentId);
      else batched.also = "posted";
      if (request) batched.add("requests", { ...wireRequest(request), at: batched.at });
      batched.add("posts", {
        i: batched.i,
        o,
        agent: isById ? clean(to.agentId) : undefined,
        key: isById ? undefined : clean(to.sessionKey),
        urgent: isUrgent(body),
        reset: body.kind === "reset",
        human: body.kind === "user",
        person: isFromPerson(body),
        at: Math.trunc(acceptedAt),
        message: JSON.stringify(message),
        dedupe: dedupe && clean(dedupe.key),
        keep: dedupe && Math.trunc(dedupe.keepUntil),
        max_waiting: maxWaiting,
        claim: claimFor,
        ...(request && wireRequest(request)),
        request_keep: request && Math.trunc(request.keepUntil),
      });
    },
  },
  "message.take": {
    byOwner: true,
    wire: ({ runId, seqs, unlessResetAfter }) => ({ runId: clean(runId), seqs, unless: unlessResetAfter }),
    batch: ({ runId, seqs, unlessResetAfter }, { agent, claims, add }) => {
      claims.gone = Number(claims.gone) + seqs.length;
      claims.unless = unlessResetAfter;
      for (const seq of seqs) add("taken", { agent, seq, run: clean(runId), came: "waiting" });
    },
  },
  "message.settle": {
    byOwner: true,
    wire: ({ settlements }) => ({
      settlements: settlements.map((one) => ({ ...one, reason: cleanIfAny(one.reason) })),
    }),
    batch: ({ settlements }, { agent, at, claims, add }) => {
      for (const { seq, from, state, runId, reason } of settlements) {
        if (from === "waiting") claims.gone = Number(claims.gone) + 1;
        const run = cleanIfAny(runId);
        add("settled", { agent, seq, came: from, state, run, reason: cleanIfAny(reason), at });
      }
    },
  },
  "message.tried": { byOwner: true, wire: ({ seq, message }) => ({ seq, message: JSON.stringify(message) }) },
  "message.drop": {
    wire: ({ agentId, seq, reason }) => ({ agentId: clean(agentId), seq, reason: clean(reason) }),
    locks: ({ agentId }) => [["agents", clean(agentId)]],
  },
};
