/**
 * Forgets a person: stops and removes their agents, jobs, files, memory and rows, in the store and in plain files. Every step may be
 * repeated, so a process that is killed anywhere is continued by the next call, or by the next start. Mentions that other people hold are listed
 * and stays; the audit log keeps a random tombstone (M30).
 */

import type { FileChanges } from "../../../adapters/workspace/changes/file-changes.ts";
import { personDirectory } from "../../../adapters/workspace/person-directory.ts";
import type { HomePaths } from "../../../config/paths.ts";
import { ConflictError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import { sleep } from "../../../core/ports/clock.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Op } from "../../../core/store/change.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { type Actor, auditOp } from "../../../engine/people/audit-entry.ts";
import type { NodeTraces } from "../../node/node-traces.ts";
import { factOps } from "./forget-facts.ts";
import { forgetHome } from "./forget-home.ts";
import { type Access, eraserOf, type ForgetCounts, type ForgetPlan, openPlans, planOf } from "./forget-plan.ts";
import { listMentions, type Mention } from "./list-mentions.ts";
import { COMPACT, PLANS } from "./open-forgetting.ts";

export interface ForgetDeps {
  readonly ports: Ports;
  readonly agents: AgentSystem;
  readonly paths: HomePaths;
  readonly access: Access;
  readonly traces: NodeTraces | undefined;
  readonly changes: FileChanges | undefined;
  /** Whether this process works: then agents at work are given a moment to stop. */
  readonly works: boolean;
  readonly onProgress?: (text: string) => void;
}

/** Removed rows, and those that stay. It names the tombstone, not the person. */
interface ForgetReceipt {
  readonly tombstone: string;
  readonly at: number;
  readonly removed: ForgetCounts;
  /** Where others mention the person. */
  readonly mentions: readonly Mention[];
  /** Made before: they still contain the person. */
  readonly backups: readonly string[];
}

/** Durable when it resolves. */
export async function forgetPerson(deps: ForgetDeps, by: Actor, person: string): Promise<ForgetReceipt> {
  eraserOf(deps.ports);
  // A process that was killed near the end left this.
  if ((await deps.ports.store.fact(COMPACT)) !== undefined) await compact(deps);
  const plan = await planOf(deps, person);
  return follow(deps, by, plan);
}

/** Completes what a killed process began. */
export async function resumeForgetting(deps: ForgetDeps, by: Actor): Promise<readonly ForgetReceipt[]> {
  const receipts: ForgetReceipt[] = [];
  for (const plan of await openPlans(deps.ports)) receipts.push(await follow(deps, by, plan));
  if ((await deps.ports.store.fact(COMPACT)) !== undefined) await compact(deps);
  return receipts;
}

async function follow(deps: ForgetDeps, by: Actor, plan: ForgetPlan): Promise<ForgetReceipt> {
  const { ports, access, onProgress = () => {} } = deps;
  const { tombstone, people, counts, at } = plan;
  await begin(deps, by, plan);
  await access.end(people);
  onProgress(`Removing ${counts.agents} agents and ${counts.jobs} jobs.`);
  await removeJobs(deps, plan);
  await removeSwarms(deps, plan);
  await removeAgents(deps, plan);
  onProgress("Removing files and notes.");
  await removeFiles(deps, plan);
  await commit(ports, "forget.rows", [
    { op: "person.erase", people, jobs: plan.jobs, budgets: await budgetsOf(ports, people), tombstone },
  ]);
  await commit(ports, "forget.facts", await factOps(eraserOf(ports), plan));
  await forgetHome(deps, plan);
  await deps.traces?.flush();
  const directories = people.map((one) => `people/${personDirectory(one)}`);
  await deps.traces?.forgetSearch({ people, directories, agents: plan.agents as AgentId[] });
  onProgress("Looking for mentions elsewhere.");
  const found = await listMentions(deps, plan);
  // From here on nothing names the person: what is left to do needs no plan.
  await commit(ports, "forget.end", [
    { op: "fact.put", key: PLANS + tombstone, value: null },
    { op: "fact.put", key: COMPACT, value: "1" },
    auditOp(by, ports.clock.now(), { action: "person.forgotten", target: tombstone }),
  ]);
  onProgress("Compacting the database.");
  await compact(deps);
  return { tombstone, at, removed: counts, ...found };
}

/** The plan is durable before anything is removed. The record goes with it: from here on the person has no rights. */
async function begin({ ports, agents }: ForgetDeps, by: Actor, plan: ForgetPlan): Promise<void> {
  const { store, clock } = ports;
  const key = PLANS + plan.tombstone;
  if ((await store.fact(key)) === undefined) {
    const record = await store.person(plan.person);
    const remove: readonly Op[] = record ? [{ op: "person.remove", id: plan.person }] : [];
    const audit = auditOp(by, clock.now(), { action: "person.forget", target: plan.tombstone });
    await commit(ports, "forget.begin", [
      { op: "fact.put", key, value: JSON.stringify(plan), expect: null },
      ...remove,
      audit,
    ]);
  }
  agents.directory.forget();
}

async function removeJobs({ ports }: ForgetDeps, { jobs }: ForgetPlan): Promise<void> {
  for (const id of jobs) {
    if (await ports.store.job(id)) await commit(ports, "forget.job", [{ op: "job.remove", id }]);
  }
}

async function removeSwarms({ ports, agents }: ForgetDeps, plan: ForgetPlan): Promise<void> {
  const own = new Set(plan.agents);
  for (let after: string | undefined; ; ) {
    const page = await ports.store.swarms({ limit: 200, after });
    for (const { nametag, owner } of page) if (own.has(owner)) await agents.lifecycle.removeSwarm(nametag);
    if (page.length < 200) return;
    after = page.at(-1)?.nametag;
  }
}

const REST_MS = 10_000;
const AGAIN_MS = 100;

/** All are stopped first, so that none makes another. Then each is erased, at the latest after some seconds. */
async function removeAgents(
  { ports, agents, works }: ForgetDeps,
  { agents: ids, tombstone }: ForgetPlan,
): Promise<void> {
  const { store, clock } = ports;
  const open = async (id: string) => {
    const agent = await store.agent(id as AgentId);
    return agent && !agent.stopped?.removed ? agent : undefined;
  };
  for (const id of ids) {
    if (await open(id)) await agents.lifecycle.stop(id as AgentId, "its person is forgotten").catch(() => undefined);
  }
  for (const id of ids as AgentId[]) {
    const until = clock.monotonic() + (works ? REST_MS : 0);
    for (;;) {
      const agent = await open(id);
      const rests = !agent || (agent.runId === undefined && agent.waiting === 0 && !(await isSending(ports, id)));
      if (rests || clock.monotonic() >= until) break;
      await sleep(clock, AGAIN_MS);
    }
    const runId = (await store.agent(id))?.runId;
    const forfeit: readonly Op[] = runId === undefined ? [] : [{ op: "budget.forfeit", runId }];
    await agents.lifecycle.erase(id, tombstone, forfeit);
  }
}

const isSending = async ({ store }: Ports, agentId: AgentId): Promise<boolean> =>
  (await store.deliveries({ limit: 1, agentId, states: ["sending"] })).length > 0;

async function removeFiles({ ports, agents }: ForgetDeps, { people }: ForgetPlan): Promise<void> {
  for (const person of people) {
    for (let page = await ports.store.files({ person, limit: 100 }); page.length > 0; ) {
      await commit(
        ports,
        "forget.files",
        page.map(({ id }) => ({ op: "file.remove", id })),
      );
      page = await ports.store.files({ person, limit: 100 });
    }
  }
  // Also bytes that an earlier try has doomed and not deleted.
  await agents.files?.sweep();
}

/** Budgets by day name the person at their end; those of agents go with the agent. */
async function budgetsOf({ store }: Ports, people: readonly string[]): Promise<string[]> {
  const keys: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await store.budgets({ limit: 500, after });
    for (const { key } of page) if (people.some((person) => key.endsWith(`:${person}`))) keys.push(key);
    if (page.length < 500) return keys;
    after = page.at(-1)?.key;
  }
}

async function compact({ ports }: ForgetDeps): Promise<void> {
  await eraserOf(ports).compact();
  await commit(ports, "forget.compacted", [{ op: "fact.put", key: COMPACT, value: null }]);
}

async function commit(ports: Ports, site: CommitSite, ops: readonly Op[]): Promise<void> {
  if (ops.length === 0) return;
  const done = await submit(ports, site, ops);
  if (!done.ok)
    throw new ConflictError(`A step of forgetting was refused: ${done.detail}`, {
      hint: "Run the command again: it continues.",
    });
}
