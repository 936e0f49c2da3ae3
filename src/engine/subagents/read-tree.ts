/**
 * Reads the tree of agents, which agent started which, from the top or below one agent. It reads level by level, at the cost of
 * what it shows: children are found by their parent, roots by an index.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { type AgentTree, TREE_LIMITS, type TreeNode, type TreeOptions } from "../../core/agent/agent-tree.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import { type NameReader, type Namer, namerOf, namesInList } from "../../core/store/agent-names.ts";
import type { StoreReader } from "../../core/store/store.ts";

type TreeReader = NameReader & Pick<StoreReader, "roots" | "children" | "waits" | "budget">;

export async function readTree(store: TreeReader, now: number, options: TreeOptions = {}): Promise<AgentTree> {
  const depth = Math.min(options.depth ?? TREE_LIMITS.depth, TREE_LIMITS.maxDepth);
  const limit = Math.max(1, Math.min(options.limit ?? TREE_LIMITS.agents, TREE_LIMITS.maxAgents));
  const { root, shows } = options;
  const tops = await firstShown(
    root === undefined ? (page) => store.roots(page) : async () => [await rootOf(store, root)],
    limit + 1,
    shows,
  );
  const shown = tops.slice(0, limit);
  const budget = { left: limit - shown.length };
  const growing = shown.map((agent): Growing => ({ agent, children: [], more: false }));
  // Level by level, so that a large branch does not hide the first children of the others.
  for (let level: readonly Growing[] = growing, deep = 0; level.length > 0; deep++) {
    const next: Growing[] = [];
    for (const one of level) {
      const room = deep < depth ? budget.left : 0;
      const children = await firstShown((page) => store.children(one.agent.id, page), room + 1, shows);
      const fit = children.slice(0, room);
      budget.left -= fit.length;
      one.more = children.length > fit.length;
      one.children = fit.map((agent) => ({ agent, children: [], more: false }));
      next.push(...one.children);
    }
    level = next;
  }
  const all = growing.flatMap(withAllBelow);
  const names = await namesInList(store, all);
  const known: Names = { namer: namerOf(store), byId: new Map(all.map(({ id }, at) => [id, names[at] ?? ""])) };
  const roots: TreeNode[] = [];
  for (const one of growing) roots.push(await nodeOf(store, one, known));
  return { at: now, roots, more: tops.length > shown.length };
}

async function rootOf(store: TreeReader, id: AgentId): Promise<AgentRecord> {
  const agent = await store.agent(id);
  if (!agent) throw new NotFoundError(`There is no agent ${id}.`);
  return agent;
}

const PAGE = 500;
/** How many agents of others are passed over, so that the cost stays bounded. */
const MAX_LOOKED_AT = 10_000;

/** The first agents of a list that are shown, at most so many. Without a choice no more are read than are shown. */
async function firstShown(
  read: (page: { readonly limit: number; readonly after?: AgentId }) => Promise<readonly AgentRecord[]>,
  most: number,
  shows: TreeOptions["shows"],
): Promise<readonly AgentRecord[]> {
  if (!shows) return read({ limit: most });
  const found: AgentRecord[] = [];
  let after: AgentId | undefined;
  for (let looked = 0; found.length < most && looked < MAX_LOOKED_AT; looked += PAGE) {
    const page = await read({ limit: PAGE, after });
    found.push(...page.filter(shows));
    after = page.at(-1)?.id;
    if (page.length < PAGE) break;
  }
  return found.slice(0, most);
}

interface Growing {
  readonly agent: AgentRecord;
  children: Growing[];
  more: boolean;
}

const withAllBelow = ({ agent, children }: Growing): readonly AgentRecord[] => [
  agent,
  ...children.flatMap(withAllBelow),
];

interface Names {
  readonly namer: Namer;
  /** Of the agents that are shown. */
  readonly byId: ReadonlyMap<AgentId, string>;
}

async function nodeOf(store: TreeReader, { agent, children, more }: Growing, names: Names): Promise<TreeNode> {
  const { id, sessionKey, descriptor, state, waiting, runId, stopped, lastHumanAt = 0, createdAt } = agent;
  const waits = runId === undefined ? [] : await store.waits({ from: id, limit: 10 });
  const [own, tree] = [await store.budget(`agent:${id}`), await store.budget(`tree:${id}`)];
  const below: TreeNode[] = [];
  for (const child of children) below.push(await nodeOf(store, child, names));
  return {
    id,
    name: names.byId.get(id) ?? "",
    sessionKey,
    kind: descriptor.type,
    state: stopped ? "stopped" : runId !== undefined ? "running" : waiting > 0 ? "waiting" : "resting",
    waiting,
    runId,
    waitsFor: waits.length === 0 ? undefined : await Promise.all(waits.map(({ to }) => waitedFor(to, names))),
    tokens: tokensOf(agent),
    spent: own?.spent,
    treeSpent: tree?.spent,
    lastActivityAt: Math.max(state.updatedAt, lastHumanAt, createdAt),
    children: below,
    more: more || undefined,
  };
}

const waitedFor = async (id: AgentId, { byId, namer }: Names) => ({
  id,
  name: byId.get(id) ?? (await namer.nameById(id)),
});

const tokensOf = ({ state }: AgentRecord): number =>
  Object.values(state.stats)
    .flatMap((models) => Object.values(models))
    .reduce((sum, { total }) => sum + total, 0);
