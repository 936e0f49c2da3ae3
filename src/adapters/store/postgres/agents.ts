/** The tables `agents`, `states` and `session_keys`: reads, and how ops on them are sent. */
import type { AgentSeed } from "../../../core/agent/agent.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type AgentRow, agentOf, readablePage } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean, cleanIfAny } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type Lock, type OpForms, type Wire, whole } from "./op-form.ts";

const COLUMNS = `no, id, session_key, profile, person, descriptor, created_at, session_id, next_seq, cursor, waiting, next_pos, leaf, run_id, node, epoch,
  last_human_at, stopped, suspended, states.state`;
export const SELECT_AGENTS_FROM = `SELECT ${COLUMNS}
FROM agents JOIN states ON states.agent = agents.id`;
const SELECT: Statement = { name: "select-agent", types: ["text"], text: `${SELECT_AGENTS_FROM} WHERE agents.id = $1` };
const SELECT_BY_KEY: Statement = {
  name: "select-agent-by-key",
  types: ["text"],
  text: `SELECT ${COLUMNS}
FROM session_keys JOIN agents ON agents.id = session_keys.agent JOIN states ON states.agent = agents.id WHERE session_keys.key = $1`,
};
const SELECT_PAGE: Statement = {
  name: "select-agents",
  text: `${SELECT_AGENTS_FROM}
WHERE no > coalesce((SELECT earlier.no FROM agents AS earlier WHERE earlier.id = $1), 0) AND NOT removed ORDER BY no LIMIT $2`,
};
const SELECT_NEWEST: Statement = {
  name: "select-agents-newest",
  text: `${SELECT_AGENTS_FROM}
WHERE no < coalesce((SELECT earlier.no FROM agents AS earlier WHERE earlier.id = $1), 9223372036854775807) AND NOT removed
ORDER BY no DESC LIMIT $2`,
};
const SELECT_ROOTS: Statement = {
  name: "select-roots",
  text: `${SELECT_AGENTS_FROM}
WHERE parent IS NULL AND no < coalesce((SELECT earlier.no FROM agents AS earlier WHERE earlier.id = $1), 9223372036854775807) AND NOT removed
ORDER BY no DESC LIMIT $2`,
};
const SELECT_BUSY: Statement = {
  name: "select-busy-agents",
  text: `${SELECT_AGENTS_FROM}
WHERE busy AND no > coalesce((SELECT earlier.no FROM agents AS earlier WHERE earlier.id = $1), 0) ORDER BY no LIMIT $2`,
};
const SELECT_CHILDREN: Statement = {
  name: "select-children",
  text: `${SELECT_AGENTS_FROM}
WHERE parent = $1 AND no > coalesce((SELECT earlier.no FROM agents AS earlier WHERE earlier.id = $2), 0) AND NOT removed
ORDER BY no LIMIT $3`,
};
const SELECT_OF_KIND: Statement = {
  name: "select-agents-of-kind",
  text: `${SELECT_AGENTS_FROM}
WHERE kind = $1 AND no > coalesce((SELECT earlier.no FROM agents AS earlier WHERE earlier.id = $2), 0) AND NOT removed ORDER BY no LIMIT $3`,
};
const SELECT_MOST_RECENT_FOREGROUND: Statement = {
  name: "select-most-recent-foreground",
  text: `${SELECT_AGENTS_FROM}
WHERE kind = 'user' AND last_human_at IS NOT NULL ORDER BY last_human_at DESC, no DESC LIMIT $1`,
};
const SELECT_RECENT_BEFORE: Statement = {
  name: "select-recent-before",
  text: `${SELECT_AGENTS_FROM}
WHERE kind = 'user' AND last_human_at IS NOT NULL
  AND (last_human_at, no) < ($1::bigint, coalesce((SELECT earlier.no FROM agents AS earlier WHERE earlier.id = $2), 0))
ORDER BY last_human_at DESC, no DESC LIMIT $3`,
};
const SELECT_MOST_RECENT_HEARTBEAT: Statement = {
  name: "select-most-recent-heartbeat",
  text: `${SELECT_AGENTS_FROM} WHERE kind = 'heartbeat' AND NOT removed ORDER BY no DESC LIMIT $1`,
};

type AgentReads =
  | "agent"
  | "agentByKey"
  | "agentFor"
  | "agents"
  | "agentsOfKind"
  | "busyAgents"
  | "children"
  | "recentForeground"
  | "roots";

export function agentReads(connections: Connections): Pick<StoreReader, AgentReads> {
  const one = async (statement: Statement, value: string) => {
    const row = await connections.one<AgentRow>(statement, value);
    return row && agentOf(row);
  };
  const page = (statement: Statement, limit: number, ...values: (string | null)[]) =>
    readablePage(limit, agentOf, (asked) => connections.all<AgentRow>(statement, ...values, asked));
  return {
    agent: (id) => one(SELECT, id),
    agentByKey: (key) => one(SELECT_BY_KEY, key),
    agentFor: async (strategy) =>
      (await page(strategy === "heartbeat" ? SELECT_MOST_RECENT_HEARTBEAT : SELECT_MOST_RECENT_FOREGROUND, 1))[0],
    agents: ({ after, limit, newest }) => page(newest ? SELECT_NEWEST : SELECT_PAGE, limit, after ?? null),
    agentsOfKind: (kind, { after, limit }) => page(SELECT_OF_KIND, limit, kind, after ?? null),
    busyAgents: ({ after, limit }) => page(SELECT_BUSY, limit, after ?? null),
    children: (agentId, { after, limit }) => page(SELECT_CHILDREN, limit, agentId, after ?? null),
    recentForeground: ({ limit, before }) =>
      before
        ? page(SELECT_RECENT_BEFORE, limit, String(before.at), before.agentId)
        : page(SELECT_MOST_RECENT_FOREGROUND, limit),
    roots: ({ after, limit }) => page(SELECT_ROOTS, limit, after ?? null),
  };
}

/** A new agent as `insert_agent` reads it. */
export function wireSeed(seed: AgentSeed): Wire {
  const { descriptor } = seed;
  return {
    id: seed.id,
    key: clean(seed.sessionKey),
    profile: clean(seed.profile),
    person: cleanIfAny(seed.person),
    kind: descriptor.type,
    parent: descriptor.type === "subagent" ? clean(descriptor.parentAgentId) : undefined,
    descriptor: JSON.stringify(descriptor),
    state: JSON.stringify(seed.state),
    session: seed.sessionId,
    lines: seed.lines.map(clean),
    leaf: clean(seed.leaf),
    at: whole(seed.createdAt),
  };
}

export function seedLocks({ sessionKey, descriptor }: AgentSeed): readonly Lock[] {
  const key: Lock = ["names", `key ${clean(sessionKey)}`];
  return descriptor.type === "subagent" ? [key, ["parents", clean(descriptor.parentAgentId)]] : [key];
}

const stopLocks = ({ agentId }: { readonly agentId: string }): readonly Lock[] => [
  ["agents", clean(agentId)],
  ["stops", clean(agentId)],
];

type AgentOps =
  | "agent.create"
  | "agent.describe"
  | "agent.stop"
  | "agent.remove"
  | "agent.claim"
  | "agents.claim"
  | "agent.release"
  | "agent.hand"
  | "session.begin";

export const agentOps: OpForms<AgentOps> = {
  "agent.create": {
    wire: ({ seed, fresh }) => ({ seed: wireSeed(seed), fresh: fresh || undefined }),
    locks: ({ seed }) => seedLocks(seed),
  },
  "agent.describe": {
    byOwner: true,
    wire: ({ descriptor }) => ({ kind: descriptor.type, descriptor: JSON.stringify(descriptor) }),
  },
  "agent.stop": {
    wire: ({ agentId, mark, ifSeq }) => ({
      agentId: clean(agentId),
      mark: mark === null ? undefined : JSON.stringify({ ...mark, seq: undefined }),
      ifSeq,
    }),
    locks: stopLocks,
  },
  "agent.remove": {
    wire: ({ agentId, reason, keep }, at) => ({
      agentId: clean(agentId),
      mark: JSON.stringify({ at: whole(at), reason, removed: true }),
      reason: clean(reason),
      state: JSON.stringify(freshState(at)),
      keep: keep || undefined,
    }),
    locks: stopLocks,
  },
  "agent.claim": {
    wire: ({ agentId, node }) => ({ agentId: clean(agentId), node }),
    locks: ({ agentId }) => [["agents", clean(agentId)]],
  },
  "agents.claim": {
    wire: ({ node, limit, own, after }) => ({ node, limit, own: own ?? false, after: cleanIfAny(after) }),
  },
  "agent.release": {
    byOwner: true,
    wire: () => ({}),
    batch: (_, { claims }, o) => {
      claims.rel = o;
    },
  },
  "agent.hand": { byOwner: true, wire: ({ to }) => ({ to }) },
  "session.begin": {
    byOwner: true,
    wire: ({ sessionId }) => ({ sessionId }),
    batch: ({ sessionId }, { claims }) => {
      claims.begins = sessionId;
    },
  },
};
