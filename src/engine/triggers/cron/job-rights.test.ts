/** A job whose person lost a right: its gate is not run, its address is not reached, and the slot says why (L13). */
import { expect, it } from "vitest";
import type { ChangeId } from "../../../core/ids.ts";
import type { Grant } from "../../../core/people/grant.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { GateVerdict } from "../../../core/ports/gate-runner.ts";
import { TriggerTestEngine } from "../triggers.test-kit.ts";

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
