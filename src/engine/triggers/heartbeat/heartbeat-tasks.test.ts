/** The tasks of a heartbeat: which there are, under which ids they are added, and which can be removed. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import type { Op } from "../../../core/store/change.ts";
import { batchPrompt, type HeartbeatTask, HeartbeatTasks } from "./heartbeat-tasks.ts";

const task = (id: string, title = id): HeartbeatTask => ({ id, title, prompt: `do ${id}` });

function heartbeat(stored: readonly HeartbeatTask[] | undefined, files?: readonly HeartbeatTask[]) {
  const job = async (id: string) =>
    id === "heartbeat:main" ? { id, name: "beat", version: 4, tasks: stored } : undefined;
  return new HeartbeatTasks({ store: { job } as never, tasks: files ? async () => files : undefined } as never);
}

/** The job that the ops store. */
const putBy = (ops: readonly Op[]): object => {
  const [only, ...more] = ops;
  if (only?.op !== "job.put" || more.length > 0) throw new Error("no put");
  return { ...only.job, expect: only.expect };
};
const job = (...tasks: readonly HeartbeatTask[]) => ({
  id: "heartbeat:main",
  name: "beat",
  version: 4,
  tasks,
  expect: 4,
});

describe("the list", () => {
  test("has the stored tasks and the files, which name their file", async () => {
    expect(await heartbeat([task("a")], [task("b")]).list("main")).toEqual([
      task("a"),
      { ...task("b"), file: "heartbeat/b.md" },
    ]);
    expect(await heartbeat([task("a")]).list("main")).toEqual([task("a")]);
  });

  test("is empty without a task, and without a heartbeat has the files", async () => {
    expect(await heartbeat(undefined).list("main")).toEqual([]);
    expect(await heartbeat([task("a")], [task("b")]).list("other")).toMatchObject([task("b")]);
  });
});

describe("a new task", () => {
  const added = async (before: readonly HeartbeatTask[] | undefined, title: string, id?: string) =>
    heartbeat(before).addOps("main", { id, title, prompt: "p" });

  test("is added to the others and leaves the rest of the job as it is", async () => {
    const { id, ops } = await added([task("a")], "Look at the mail!");
    expect(id).toBe("look-at-the-mail");
    expect(putBy(ops)).toEqual(job(task("a"), { id, title: "Look at the mail!", prompt: "p" }));
    expect(putBy((await added(undefined, "b")).ops)).toMatchObject({ tasks: [{ id: "b" }] });
  });

  test.each([
    ["Disk", [], "disk"],
    ["Disk", ["disk"], "disk-2"],
    ["Disk", ["disk", "disk-2", "disk-3"], "disk-4"],
    ["Disk", ["disk-2"], "disk"],
    ["…", [], "task"],
    ["¿Qué?", ["task"], "qu"],
    ["-- a  b --", [], "a-b"],
    ["x".repeat(61), [], "x".repeat(60)],
    ["x".repeat(60), [], "x".repeat(60)],
  ])("with the title %j beside %j has the id %s", async (title, ids, id) => {
    expect(
      (
        await added(
          ids.map((one) => task(one)),
          title,
        )
      ).id,
    ).toBe(id);
  });

  test("with the id of another takes its place, and keeps an id that is given", async () => {
    const { id, ops } = await added([task("a"), task("b")], "New", "a");
    expect(id).toBe("a");
    expect(putBy(ops)).toEqual(job(task("b"), { id: "a", title: "New", prompt: "p" }));
    expect((await added([], "New", "mine")).id).toBe("mine");
  });

  test("for a profile without a heartbeat is refused", async () => {
    await expect(heartbeat([]).addOps("other", { title: "x", prompt: "p" })).rejects.toThrow(
      "The profile other has no heartbeat.",
    );
  });
});

describe("a task that is removed", () => {
  test("is gone from the job, and nothing else", async () => {
    expect(putBy(await heartbeat([task("a"), task("b")]).removeOps("main", "a"))).toEqual(job(task("b")));
  });

  test("as a file is refused with its name, another as unknown", async () => {
    const both = heartbeat([task("a")], [task("b"), task("c")]);
    await expect(both.removeOps("main", "b")).rejects.toThrow("This task is the file heartbeat/b.md.");
    await expect(both.removeOps("main", "d")).rejects.toThrow("There is no heartbeat task d.");
    await expect(heartbeat(undefined).removeOps("main", "a")).rejects.toThrow("There is no heartbeat task a.");
    await expect(both.removeOps("other", "a")).rejects.toThrow("The profile other has no heartbeat.");
  });
});

describe("the prompt of several tasks", () => {
  test("is the same in whatever order they come: by title, then by id", () => {
    const all = [task("z", "A"), task("a", "B"), task("b", "B"), task("c", "B"), task("y", "C")];
    const prompt = batchPrompt(all);
    expect([...prompt.matchAll(/^id: (\w)$/gmu)].map(([, id]) => id)).toEqual(["z", "a", "b", "c", "y"]);
    expect([...prompt.matchAll(/^## (\d)\. (\w)$/gmu)].map(([, n, title]) => `${n}${title}`)).toEqual([
      "1A",
      "2B",
      "3B",
      "4B",
      "5C",
    ]);
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (some) => batchPrompt(some) === prompt),
      { numRuns: tries(50) },
    );
  });

  test("of none is empty", () => {
    expect(batchPrompt([])).toBe("");
  });
});
