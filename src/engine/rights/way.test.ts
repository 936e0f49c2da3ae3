/**
 * Random ways of messages, runs, jobs, children and hooks between people: no effect exceeds what the strictest person on its way is
 * allowed. Who is on a way is counted here, beside the functions that the engine uses; each of them that drops a link is found.
 */

import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { testSettings } from "../../../test/kit/settings.ts";
import { tries } from "../../../test/kit/share.ts";
import type { AgentSeed } from "../../core/agent/agent.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import type { Grant } from "../../core/people/grant.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import { judge, type Standing } from "../../core/rights/decide.ts";
import type { CallRecord, RunBody } from "../../core/run/run.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { Op } from "../../core/store/change.ts";
import type { PeopleNow } from "../people/directory.ts";
import { onBehalf } from "../people/on-behalf.ts";
import { runBehalf, withSpeakers } from "../people/run-behalf.ts";
import { gateOf } from "./gate.ts";

const PEOPLE = [OWNER, "ann", "bob", "eve"] as PersonId[];
const TOOLS = ["exec", "read", "heartbeat_add"];
const tools = TOOLS.map((name) => ({ name, rights: name === "exec" ? ["exec"] : [] }) as unknown as Tool);
const host: ToolHost = { list: () => tools, find: (_, name) => tools.find((tool) => tool.name === name) };

/** How people get from one thing to the next. */
interface Links {
  readonly run: typeof runBehalf;
  readonly heard: typeof withSpeakers;
  readonly makes: typeof onBehalf;
}
const SOUND: Links = { run: runBehalf, heard: withSpeakers, makes: onBehalf };

interface Thing {
  readonly behalf?: Behalf;
  /** Everyone on its way. */
  readonly way: ReadonlySet<PersonId>;
}
interface Agent {
  readonly own: PersonId;
  state: { speakers?: string[] };
  heard: ReadonlySet<PersonId>;
  readonly inbox: Thing[];
}
type Run = Thing & { readonly agent: Agent };
type Step = readonly [kind: number, a: number, b: number];

/** Walks the steps and returns every run. */
function walk(links: Links, steps: readonly Step[]): readonly Run[] {
  const agents = PEOPLE.map((own): Agent => ({ own, state: {}, heard: new Set(), inbox: [] }));
  const jobs: Thing[] = [];
  const runs: Run[] = [];
  const pick = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)];
  const made = (run: Run, op: Op): Op =>
    links.makes({ agent: { id: "a" as AgentId, person: run.agent.own }, behalf: run.behalf }, [op])[0] as Op;
  const messageOf = (run: Run): Thing => {
    const op = made(run, {
      op: "message.post",
      to: { agentId: "b" as AgentId },
      message: { body: { kind: "stop" }, acceptedAt: 1 },
    });
    return { behalf: op.op === "message.post" ? op.message.behalf : undefined, way: run.way };
  };
  const runAll = (): void => {
    for (const agent of agents) {
      for (let message = agent.inbox.shift(); message; message = agent.inbox.shift()) {
        const behalf = links.run(agent, [message]);
        runs.push({ agent, behalf, way: new Set([...message.way, ...agent.heard, agent.own]) });
        agent.state = links.heard(agent.own, agent.state, [message]) ?? agent.state;
        agent.heard = new Set([...agent.heard, ...message.way]);
      }
    }
  };
  for (const [kind, a, b] of steps) {
    runAll();
    const agent = pick(agents, a) as Agent;
    const run = pick(runs, b);
    if (kind === 0) {
      const person = pick(PEOPLE, b) as PersonId;
      agent.inbox.push({ behalf: { person }, way: new Set([person]) });
    } else if (kind === 1) agent.inbox.push({ behalf: { person: OWNER, untrusted: true }, way: new Set([OWNER]) });
    else if (!run) continue;
    else if (kind === 2) agent.inbox.push(messageOf(run));
    else if (kind === 3) {
      const seed = { descriptor: { type: "subagent" } } as AgentSeed;
      const op = made(run, { op: "agent.create", seed });
      const own = (op.op === "agent.create" && op.seed.person) || OWNER;
      agents.push({ own, state: {}, heard: new Set(), inbox: [messageOf(run)] });
    } else if (kind === 4) {
      const op = made(run, { op: "job.put", job: { id: "j" } as CronJob, expect: 0 });
      jobs.push({ behalf: op.op === "job.put" ? op.job.behalf : undefined, way: run.way });
    } else if (kind === 5) {
      const at = a % Math.max(1, jobs.length);
      const job = jobs[at];
      if (!job) continue;
      const op = made(run, { op: "job.put", job: { id: "j", behalf: job.behalf } as CronJob, expect: 1 });
      jobs[at] = { behalf: op.op === "job.put" ? op.job.behalf : undefined, way: new Set([...job.way, ...run.way]) };
    } else {
      const job = pick(jobs, a);
      if (job) agents.push({ own: job.behalf?.person ?? OWNER, state: {}, heard: new Set(), inbox: [job] });
    }
  }
  runAll();
  return runs;
}

const grant = fc.oneof(
  fc.constantFrom(...TOOLS).map((allow): Grant => ({ allow })),
  fc.constantFrom(...TOOLS).map((deny): Grant => ({ deny })),
);
const standings = fc
  .tuple(fc.array(grant, { maxLength: 2 }), fc.array(grant, { maxLength: 2 }), fc.constantFrom("guest", "stranger"))
  .map(([ann, bob, role]): readonly Standing[] => [
    { person: OWNER, role: "owner", grants: [] },
    { person: "ann" as PersonId, role: "guest", grants: ann },
    { person: "bob" as PersonId, role: "guest", grants: bob },
    { person: "eve" as PersonId, role: role as "guest", grants: [] },
  ]);
const steps = fc.array(fc.tuple(fc.nat(6), fc.nat(9), fc.nat(9)), { minLength: 5, maxLength: 40 });

/** Every call that the gate allows is allowed to everyone on its way. */
const property = (links: Links) =>
  fc.asyncProperty(standings, steps, async (all, given) => {
    const standing = (id: PersonId) =>
      all.find(({ person }) => person === id) ?? { person: id, role: "stranger" as const, grants: [] };
    const now = { revision: 1, standing, personOf: (id: PersonId) => id } as PeopleNow;
    const gate = gateOf({
      settings: testSettings(),
      tools: host,
      directory: { now: async () => now },
      personOf: async () => undefined,
    });
    for (const { agent, behalf, way } of walk(links, given)) {
      const calls = TOOLS.map(
        (name): CallRecord => ({ callId: name, name, arguments: {}, replay: "safe", state: "asked" }),
      );
      const record = { id: "a", descriptor: { type: "user" }, profile: "main", state: agent.state } as never;
      const { calls: judged } = await gate.judge(record, { id: "r" as RunId, body: { behalf } as RunBody }, calls);
      for (const { call, decision } of judged) {
        if (decision.verdict !== "allow") continue;
        const rights = host.find(record, call.name)?.rights ?? [];
        for (const one of way)
          if (judge({ action: call.name, rights }, standing(one)).verdict !== "allow") return false;
      }
    }
    return true;
  });

describe("no effect exceeds the strictest verdict on its way", () => {
  it("over messages, runs, sessions, children, jobs and hooks", async () => {
    await fc.assert(property(SOUND), { numRuns: tries(300) });
  });

  const alone = (behalf: Behalf | undefined): Behalf | undefined => behalf && { person: behalf.person };
  const dropping =
    (drop: (op: Op) => Op): Links["makes"] =>
    (acting, ops) =>
      onBehalf(acting, ops).map(drop);
  test.each<[string, Partial<Links>]>([
    ["the writer of a message", { run: (agent, _, before) => runBehalf(agent, [{}], before) }],
    [
      "the others on a message's way",
      {
        run: (agent, taken) =>
          runBehalf(
            agent,
            taken.map(({ behalf }) => ({ behalf: alone(behalf) })),
          ),
      },
    ],
    [
      "the agent's person",
      { run: (agent, taken) => runBehalf({ ...agent, own: taken.at(-1)?.behalf?.person ?? OWNER }, taken) },
    ],
    ["those who spoke in the session", { heard: () => undefined }],
    [
      "the run that sends a message",
      {
        makes: dropping((op) =>
          op.op === "message.post" ? { ...op, message: { ...op.message, behalf: undefined } } : op,
        ),
      },
    ],
    [
      "the others on the way of a run that sends",
      {
        makes: dropping((op) =>
          op.op === "message.post" ? { ...op, message: { ...op.message, behalf: alone(op.message.behalf) } } : op,
        ),
      },
    ],
    [
      "the run that makes a job",
      {
        makes: dropping((op) =>
          op.op === "job.put" && op.expect === 0 ? { ...op, job: { ...op.job, behalf: undefined } } : op,
        ),
      },
    ],
    [
      "the run that changes a job",
      {
        makes: (acting, ops) =>
          ops.map((op) => (op.op === "job.put" && op.expect === 1 ? op : (onBehalf(acting, [op])[0] as Op))),
      },
    ],
  ])("and a way without %s is found", async (_, broken) => {
    const { failed } = await fc.check(property({ ...SOUND, ...broken }), { numRuns: tries(3_000), seed: 7 });
    expect(failed).toBe(true);
  });
});
