/** Homes of earlier schemas with open work: this version opens each of them and finishes everything. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openWork } from "../fixtures/open-work/open-work.ts";

const HOMES = join(import.meta.dirname, "../fixtures/open-work");
/** Where the homes were made: a yes is for a call in this directory. */
const HOME = "/tmp/rookery-open-work";
const names = readdirSync(HOMES).filter((name) => name.endsWith(".tar.gz"));

it.each(names)("finishes the run, the child and the question of %s", async (name) => {
  rmSync(HOME, { recursive: true, force: true });
  mkdirSync(HOME);
  execFileSync("tar", ["-xzf", join(HOMES, name), "-C", HOME]);
  let [paid, dug] = [0, 0];
  const rookery = await openWork(HOME, {
    pay() {
      paid += 1;
      return "paid";
    },
    async dig() {
      dug += 1;
      return "gold";
    },
  });
  try {
    const { items: questions } = await rookery.approvals.list();
    expect(questions).toMatchObject([{ tool: "pay" }]);
    await rookery.approvals.yes(questions[0]?.id ?? "", { digest: questions[0]?.digest ?? "" });
    await rookery.settled();
    expect([paid, dug]).toEqual([1, 2]);
    const { items: agents } = await rookery.agents.list();
    expect(agents.filter(({ runId, waiting }) => runId !== null || waiting > 0)).toEqual([]);
    const said = async (agent: string) =>
      JSON.stringify((await rookery.agent(`agent:main:permanent:${agent}`).history()).items);
    expect(await said("clerk")).toContain("read: paid");
    expect(await said("digger")).toContain("read: gold");
    expect(await said("boss")).toContain("read: gold");
    expect((await rookery.approvals.list()).items).toEqual([]);
  } finally {
    await rookery.close();
    rmSync(HOME, { recursive: true, force: true });
  }
});
