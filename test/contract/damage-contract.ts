/** A record that cannot be read blocks no other record and stays unchanged (L11). */
import { expect } from "vitest";
import { CorruptDataError } from "../../src/core/errors.ts";
import type { CronJob } from "../../src/core/schedule/job.ts";
import { idOf, keyOf, type Opener, postOp, storeTest, userBody } from "./fixture.ts";

export function damageContract(open: Opener): void {
  storeTest("lists skip an agent that cannot be read, and pages stay full", open, async (world, opened, context) => {
    if (!opened.damage) return context.skip("the data of this store cannot be damaged from outside");
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) {
      const { id } = await world.agent(name);
      await world.done([postOp({ agentId: id }, userBody("x"), world.now++)]);
    }
    const before = await world.store.agentFor("most-recent-foreground");
    expect(before?.id).toBe(idOf("e"));
    const ids = names.map(idOf);
    await opened.damage(`UPDATE agents SET descriptor = '{' WHERE id IN ('${ids[0]}', '${ids[1]}', '${ids[4]}')`);
    const list = async (read: Promise<readonly { id: string }[]>) => (await read).map(({ id }) => id);
    expect(await list(world.store.agents({ limit: 2 }))).toEqual([ids[2], ids[3]]);
    expect(await list(world.store.agents({ limit: 9, newest: true }))).toEqual([ids[3], ids[2]]);
    expect(await list(world.store.agents({ limit: 1, after: ids[2] }))).toEqual([ids[3]]);
    expect(await list(world.store.busyAgents({ limit: 2 }))).toEqual([ids[2], ids[3]]);
    expect(await list(world.store.agentsOfKind("user", { limit: 2 }))).toEqual([ids[2], ids[3]]);
    expect(await list(world.store.roots({ limit: 1 }))).toEqual([ids[3]]);
    expect((await world.store.agentFor("most-recent-foreground"))?.id).toBe(ids[3]);
    await expect(world.store.agent(idOf("a"))).rejects.toThrow(CorruptDataError);
    await expect(world.store.agentByKey(keyOf("a"))).rejects.toThrow(CorruptDataError);
    // Messages to it wait; none of its data is replaced.
    await world.done([postOp({ agentId: idOf("a") }, userBody("later"), world.now++)]);
    await expect(world.store.agent(idOf("a"))).rejects.toThrow(CorruptDataError);
    expect((await world.store.waiting(idOf("a"), { limit: 9 })).length).toBe(2);
  });

  storeTest(
    "a job that cannot be read does not stop other jobs from being due",
    open,
    async (world, opened, context) => {
      if (!opened.damage) return context.skip("the data of this store cannot be damaged from outside");
      for (const [n, id] of ["one", "two", "three"].entries()) {
        const job = { id, name: id, enabled: true, createdAtMs: 0, updatedAtMs: 0, state: { nextRunAtMs: n + 1 } };
        await world.done([{ op: "job.put", job: job as unknown as CronJob }]);
      }
      await opened.damage("UPDATE jobs SET job = '' WHERE id = 'one'");
      const list = async (read: Promise<readonly CronJob[]>) => (await read).map(({ id }) => id);
      expect(await list(world.store.nextJobs({ limit: 1 }))).toEqual(["two"]);
      expect(await list(world.store.jobs())).toEqual(["three", "two"]);
      expect(await list(world.store.jobs({ limit: 1, after: "" }))).toEqual(["three"]);
      await expect(world.store.job("one")).rejects.toThrow(CorruptDataError);
    },
  );
}
