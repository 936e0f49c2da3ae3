/** Inheritance in one place: no op of a run is committed without its people. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { AgentId } from "../../core/ids.ts";
import { type Behalf, everyone, isUntrusted } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { Op } from "../../core/store/change.ts";
import { seedAgent } from "../context/seed-agent.ts";
import { addedJob } from "../triggers/cron/job-changes.ts";
import { onBehalf } from "./on-behalf.ts";
import { noOne, rootedBehalf, runBehalf, withHeard, withSpeakers } from "./run-behalf.ts";

const id = (name: string) => name as PersonId;
const agent = { id: "a1" as AgentId, person: id("ann") };
const ids = seededIds("behalf");
const clock = virtualClock();
const body = { kind: "system", text: "x" } as const;
const seedOf = (descriptor: AgentDescriptor) => seedAgent(ids, descriptor, clock.now());
const create = {
  name: "j",
  sessionTarget: "isolated",
  schedule: { kind: "every", everyMs: 1_000 },
  payload: { kind: "agentTurn", message: "go" },
} as const;
const jobOf = (behalf?: Behalf): CronJob => ({ ...addedJob("j", create, {}, { now: 1 }).job, behalf });

describe("what a run commits", () => {
  it.each<[AgentDescriptor, string]>([
    [{ type: "subagent", id: "s", parentAgentId: "a1", name: "s" }, "ann"],
    [{ type: "swarm", id: "s", contact: "a1" }, "ann"],
    [{ type: "permanent", id: "p", name: "p", description: "p", systemPrompt: "p" }, "bob"],
    [{ type: "system", tag: "doctor" }, "owner"],
    [{ type: "heartbeat" }, "owner"],
    [{ type: "cron", id: "c", name: "c" }, "bob"],
  ])("an agent %j belongs to %s", (descriptor, person) => {
    const acting = { agent, behalf: { person: id("bob") } };
    const [made] = onBehalf(acting, [{ op: "agent.create", seed: seedOf(descriptor) }]);
    expect(made?.op === "agent.create" && made.seed.person).toBe(person);
    const to = { sessionKey: seedOf(descriptor).sessionKey, create: seedOf(descriptor) };
    const [posted] = onBehalf(acting, [{ op: "message.post", to, message: { body, acceptedAt: 1 } }]);
    expect(posted?.op === "message.post" && "create" in posted.to && posted.to.create?.person).toBe(person);
  });

  const person = fc.constantFrom("owner", "ann", "bob", "telegram:1", "app:x/y").map(id);
  const behalf: fc.Arbitrary<Behalf> = fc.record(
    { person, through: fc.uniqueArray(person, { maxLength: 3 }), untrusted: fc.constant(true as const) },
    { requiredKeys: ["person"] },
  );

  it("carries everyone of the run, and the mark of untrusted text, however the op names its people itself", () => {
    fc.assert(
      fc.property(behalf, fc.option(behalf, { nil: undefined }), (run, own) => {
        const ops: Op[] = [
          { op: "message.post", to: { agentId: agent.id }, message: { body, acceptedAt: 1, behalf: own } },
          { op: "job.put", job: jobOf(own), expect: 0 },
          { op: "job.put", job: jobOf(own), expect: 3 },
        ];
        for (const op of onBehalf({ agent, behalf: run }, ops)) {
          const way = op.op === "message.post" ? op.message.behalf : op.op === "job.put" ? op.job.behalf : undefined;
          expect(new Set(way && everyone(way))).toEqual(
            new Set([
              ...everyone(run),
              ...(own ? everyone(own) : op.op === "job.put" && op.expect !== 0 ? [id("owner")] : []),
            ]),
          );
          expect(way?.untrusted ?? false).toBe((run.untrusted ?? false) || (own?.untrusted ?? false));
          if (own) expect(way?.person).toBe(own.person);
        }
      }),
    );
  });

  it("is no one's if an earlier version began the run", () => {
    const [op] = onBehalf({ agent, behalf: undefined }, [
      { op: "message.post", to: { agentId: agent.id }, message: { body, acceptedAt: 1 } },
    ]);
    expect(op?.op === "message.post" && op.message.behalf).toEqual({ person: noOne(agent) });
  });

  it("a run has everyone of its messages, its session and its agent on its way", () => {
    fc.assert(
      fc.property(person, fc.array(behalf, { minLength: 1, maxLength: 3 }), fc.array(behalf), (own, taken, earlier) => {
        const messages = taken.map((one) => ({ behalf: one }));
        const state =
          withSpeakers(
            own,
            {},
            earlier.map((one) => ({ behalf: one })),
          ) ?? {};
        const way = runBehalf({ own, state }, messages);
        expect(new Set(everyone(way))).toEqual(new Set([...taken, ...earlier].flatMap(everyone).concat(own)));
        // What was read earlier in the session is still read (M32).
        expect(way.untrusted ?? false).toBe([...taken, ...earlier].some(isUntrusted));
        expect(
          withSpeakers(
            own,
            state,
            earlier.map((one) => ({ behalf: one })),
          ),
        ).toBeUndefined();
      }),
    );
  });
});

describe("the runs that led to a run", () => {
  const from = (kind: string, ...roots: string[]) =>
    ({ body: { kind, text: "x" }, behalf: { person: "ann", roots: roots.length > 0 ? roots : undefined } }) as never;
  it.each([
    ["words of a person", [from("user")], ["now"]],
    ["words of a person behind a note that another run led to", [from("system", "r1"), from("user")], ["now"]],
    ["a task that a run gave", [from("user", "r1")], ["r1"]],
    ["a note that a run led to", [from("system", "r1")], ["r1"]],
    ["a note that no run led to, with one that did", [from("system"), from("report", "r1")], ["r1"]],
    ["a note that no run led to", [from("system")], ["now"]],
    ["nothing", [], ["now"]],
  ])("are, with %s, %j: %j", (_, messages, roots) => {
    const behalf = rootedBehalf("now" as never, { own: id("ann"), state: {} }, messages);
    expect(behalf.roots).toEqual(roots);
  });

  it("are those of what it heard too", () => {
    const behalf: Behalf = { person: id("ann"), roots: ["r1" as never] };
    expect(withHeard(behalf, [])).toBe(behalf);
    expect(withHeard(undefined, [behalf])).toBeUndefined();
    expect(withHeard(behalf, [{ person: id("bob"), roots: ["r2" as never] }])).toMatchObject({
      ...{ person: "ann", through: ["bob"], roots: ["r1", "r2"] },
    });
  });
});
