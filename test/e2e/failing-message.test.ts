/** A message whose handling keeps failing in a real process (M48): `rookery status` and `rookery doctor` name it. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { api, type FakeModel, fakeModel, type Served, serve } from "./serving.ts";

let model: FakeModel;
let served: Served;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model);
});
afterAll(async () => {
  await served.stop();
  await model.close();
});

const type = (text: string) => api(served, "/api/terminal/messages", { method: "POST", body: { text } });
const says = async (command: string): Promise<string> => (await runCommand([command, "--home", served.home])).out;

it("names the message, its agent and how to drop it", async () => {
  await type("/remind 1d tea");
  await expect.poll(async () => JSON.stringify(await api(served, "/api/cron"))).toContain("tea");
  served.process.kill("SIGSTOP");
  // No date is so late: an older program, or a hand, has stored it.
  const db = new DatabaseSync(join(served.home, "rookery.db"));
  const set =
    "update jobs set job = json_set(job, '$.schedule.atMs', 8640000000000001, '$.state.nextRunAtMs', 8640000000000001) where job like '%tea%'";
  expect(Number(db.prepare(set).run().changes)).toBe(1);
  db.close();
  served = await served.crash();
  await type("/cron");
  await expect
    .poll(() => says("status"), { timeout: 20_000 })
    .toMatch(/Failing.*\(command\) of agent:main:main failed/u);
  expect(await says("doctor")).toMatch(/\(command\) of agent:main:main failed[\s\S]*--drop \d/u);
});
