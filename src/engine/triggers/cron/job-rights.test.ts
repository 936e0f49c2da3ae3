/** A job whose person lost a right: its gate is not run, its address is not reached, and the slot says why (L13). */
import { describe, expect, it } from "vitest";
import type { ChangeId } from "../../../core/ids.ts";
import type { Grant } from "../../../core/people/grant.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { GateVerdict } from "../../../core/ports/gate-runner.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { TriggerTestEngine } from "../triggers.test-kit.ts";
import { effectsOfJob, jobDenial } from "./job-rights.ts";

const behalf = { person: "bob" as PersonId };

async function open(during: () => Promise<GateVerdict> = async () => ({ pass: true, output: "fine" })) {
  let checks = 0;
  const gates = {
    check(): Promise<GateVerdict> {
      checks += 1;
      return during();
    },
  };
  const world = await TriggerTestEngine.open({ gates });
  let changes = 0;
  const grants = (...given: Grant[]) =>
    world.store.commit({
      id: `rights-${++changes}` as ChangeId,
      site: "t",
      at: 1,
      ops: [
        {
          op: "person.put",
          person: { id: "bob", role: "guest", accounts: ["test:bob"], grants: given, createdAt: 1, createdBy: "owner" },
        },
      ],
    });
  await grants({ allow: "gate" }, { allow: "cron(test:eve)" });
  const add = (job: object) =>
    world.cron.add({ name: "j", schedule: { kind: "every", everyMs: 60_000 }, ...job }, { behalf });
  const outcomes = async (id: string) =>
    (await world.cron.runs(id))
      .map((slot) => ("reason" in slot && slot.reason ? String(slot.reason) : "fired"))
      .toReversed();
  return { world, grants, add, outcomes, checks: () => checks };
}

it("stops the gate and the answers to another's address with the grant, and not the person's own job", async () => {
  const { world, grants, add, outcomes, checks } = await open();
  const payload = { kind: "agentTurn", message: "go" };
  const gated = await add({ payload, gate: { kind: "http", url: "https://example.org/" } });
  const sent = await add({ payload: { ...payload, deliver: true, channel: "test", to: "eve" } });
  const own = await add({ payload: { ...payload, deliver: true, channel: "test", to: "bob" } });
  await world.leap(60_000);
  const before = checks();
  expect(before).toBe(1);
  await grants();
  await world.leap(60_000);
  expect(checks()).toBe(before);
  expect(await outcomes(gated.id)).toEqual(["fired", expect.stringContaining("gate is denied")]);
  expect(await outcomes(sent.id)).toEqual(["fired", expect.stringContaining("test:eve is denied")]);
  expect(await outcomes(own.id)).toEqual(["fired", "fired"]);
  await expect(world.cron.run(sent.id)).rejects.toThrow("The job does not run: test:eve is denied");
});

it.each([
  ["passes", { pass: true, output: "fine" }, expect.stringContaining("gate is denied")],
  ["does not pass", { pass: false, reason: "no mail" }, "gate: no mail"],
] as const)(
  "a right that is taken away while a gate is asked, which then %s, ends the run",
  async (_, verdict, reason) => {
    const during = Promise.withResolvers<GateVerdict>();
    const { world, grants, add, outcomes } = await open(() => during.promise);
    const { id } = await add({
      payload: { kind: "agentTurn", message: "go" },
      gate: { kind: "http", url: "https://example.org/" },
    });
    await world.leap(60_000);
    await grants();
    during.resolve(verdict);
    await world.engine.settle();
    expect(await outcomes(id)).toEqual([reason]);
    expect(world.engine.requests).toEqual([]);
  },
);

describe("what a job does", () => {
  const turn = { kind: "agentTurn", message: "go" } as const;
  const command = { kind: "command", command: "true" } as const;
  const http = { kind: "http", url: "https://example.org/" } as const;
  const send = (target: string, of?: string) => ({ action: "tool", rights: ["send"], target, of });

  it.each<readonly [string, Pick<CronJob, "gate" | "payload">, readonly object[]]>([
    ["nothing", { payload: turn }, []],
    ["a command", { payload: turn, gate: command }, [{ action: "gate", rights: ["exec"] }]],
    ["a request", { payload: turn, gate: http }, [{ action: "gate", rights: ["network"] }]],
    [
      "a request before an event",
      { payload: { kind: "systemEvent", text: "t" }, gate: http },
      [{ action: "gate", rights: ["network"] }],
    ],
    ["an address", { payload: { ...turn, channel: "test", to: "eve" } }, [send("test:eve", "test:eve")]],
    ["an address as text", { payload: { ...turn, to: "test:eve" } }, [send("test:eve", "test:eve")]],
    [
      "the last one, and a text",
      { payload: { ...turn, channel: "last", to: "test:eve" } },
      [send("test:eve", "test:eve")],
    ],
    ["the last one", { payload: { ...turn, channel: "last" } }, []],
    ["a channel alone", { payload: { ...turn, channel: "test" } }, [send("test:")]],
    ["a text without a channel", { payload: { ...turn, to: "eve" } }, [send("eve")]],
    ["an empty text", { payload: { ...turn, to: "" } }, []],
    [
      "both",
      { payload: { ...turn, to: "test:eve" }, gate: command },
      [{ action: "gate", rights: ["exec"] }, send("test:eve", "test:eve")],
    ],
  ])("is %s", (_what, job, effects) => {
    expect(effectsOfJob("tool", job)).toEqual(effects);
  });
});

describe("a job does not run", () => {
  const roles: Readonly<Record<string, string>> = { owner: "owner", bob: "guest", ann: "guest" };
  const denial = async (job: object, grants: readonly Grant[] = []) => {
    let reads = 0;
    const standing = (person: string) => ({ person, role: roles[person] ?? "stranger", grants });
    const directory = {
      now: async () => {
        reads += 1;
        return { standing, personOf: (account: string) => account.split(":")[1] };
      },
    };
    const store = { agentByKey: async () => undefined };
    const payload = { kind: "agentTurn", message: "go" };
    const reason = await jobDenial({ people: { directory }, store } as never, { id: "j", payload, ...job } as never);
    return [reason, reads];
  };
  const to = (who: string) => ({ payload: { kind: "agentTurn", message: "go", channel: "test", to: who } });

  it.each([
    ["of the owner, without a look at the rights", { behalf: { person: "owner" }, ...to("eve") }, undefined, 0],
    ["of the heartbeat, whoever it is for", { behalf: { person: "eve" }, system: "heartbeat" }, undefined, 0],
    ["of a person who is known", { behalf: { person: "bob" } }, undefined, 1],
    ["of a person who is not", { behalf: { person: "eve" } }, "eve is not known here any more", 1],
    [
      "that came through one who is not",
      { behalf: { person: "bob", through: ["eve"] } },
      "eve is not known here any more",
      1,
    ],
    [
      "of the owner, through one who is not",
      { behalf: { person: "owner", through: ["eve"] } },
      "eve is not known here any more",
      1,
    ],
    ["to the person", { behalf: { person: "bob" }, ...to("bob") }, undefined, 1],
  ])("unless it may: one %s", async (_what, job, reason, reads) => {
    expect(await denial(job)).toEqual([reason, reads]);
  });

  it("if it reaches another, and says that no one can be asked", async () => {
    const [reason] = await denial({ behalf, ...to("ann") }, [{ ask: "cron(test:ann)" }]);
    expect(reason).toMatch(/^test:ann is denied: .*, and no one is there to ask$/);
    expect(await denial({ behalf, ...to("ann") }, [{ allow: "cron(test:ann)" }])).toEqual([undefined, 1]);
  });

  it("if its gate may not be asked", async () => {
    const [reason] = await denial({ behalf, gate: { kind: "http", url: "https://example.org/" } });
    expect(reason).toMatch(/^gate is denied: /);
  });
});
