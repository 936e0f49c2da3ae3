import { describe, expect, test } from "vitest";
import { ConflictError, NotFoundError } from "../../core/errors.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { CommandReply } from "./chat-command.ts";
import { commandNamed } from "./chat-commands.ts";
import { contextOf, run, said } from "./command-context.test-kit.ts";
import { runChatCommand } from "./run-chat-command.ts";

describe("/cron", () => {
  const job = (id: string, name: string, more: object = {}) =>
    ({ id, name, when: "daily", enabled: true, ...more }) as never;
  const jobs = (list: readonly never[] = [job("j1", "Morning"), job("j2", "Twice"), job("j3", "twice")]) => ({
    list: async () => list,
    get: async (_agent: unknown, id: string) => {
      const found = list.find((one: { id: string }) => one.id === id);
      if (!found) throw new NotFoundError(`No job ${id}.`);
      return found;
    },
    runOps: async (id: string) => [{ run: id }] as never,
    removeOps: async (id: string) => [{ remove: id }] as never,
    enableOps: async (id: string, enabled: boolean) => [{ enable: id, enabled }] as never,
    remind: () => undefined,
  });
  test("says so where there are none", async () => {
    expect(await said("cron", "")).toBe("There are no schedules here.");
    expect(await said("cron", "list", { parts: { jobs: jobs([]) } })).toBe("This conversation has no jobs.");
  });
  test("lists them, fifty at most", async () => {
    const list = [job("a", "A", { next: "soon" }), job("b", "B", { enabled: false, next: "soon" }), job("c", "C")];
    expect(await said("cron", "LIST", { parts: { jobs: jobs(list) } })).toBe(
      "Jobs:\n- A: daily, next soon\n- B: daily, off\n- C: daily",
    );
    const many = (length: number) => ({
      parts: { jobs: jobs(Array.from({ length }, (_, n) => job(`j${n}`, `N${n}`))) },
    });
    expect(await said("jobs", "", many(50))).not.toContain("more");
    const text = await said("jobs", "", many(52));
    expect(text.split("\n")).toHaveLength(1 + 50 + 1);
    expect(text).toContain("… and 2 more");
  });
  test.each<[string, CommandReply]>([
    ["run j1", { text: "⚙️ Morning runs now.", ops: [{ run: "j1" }] as never }],
    ["RUN morn", { text: "⚙️ Morning runs now.", ops: [{ run: "j1" }] as never }],
    ["on j1", { text: "⚙️ Morning is on.", ops: [{ enable: "j1", enabled: true }] as never }],
    ["off j1", { text: "⚙️ Morning is off.", ops: [{ enable: "j1", enabled: false }] as never }],
    ["remove j1", { text: "⚙️ Morning is removed.", ops: [{ remove: "j1" }] as never }],
    ["run twice", { text: '⚙️ "twice" fits several: Twice (j2), twice (j3). Write the id of the one you mean.' }],
    ["run j9", { text: "⚙️ No job j9." }],
    ["dance j1", { text: "⚙️ Usage: /cron [list] | run NAME | on NAME | off NAME | remove NAME" }],
    ["run", { text: "⚙️ Usage: /cron [list] | run NAME | on NAME | off NAME | remove NAME" }],
    ["run j1 now", { text: "⚙️ No job j1 now." }],
    ["list j1", { text: "⚙️ Usage: /cron [list] | run NAME | on NAME | off NAME | remove NAME" }],
  ])("%s", async (text, reply) => {
    expect(await run("cron", text, { parts: { jobs: jobs() } })).toEqual(reply);
  });
  test("asks for the right to the job of its person", async () => {
    const asked: Effect[] = [];
    const list = [job("j1", "A", { behalf: { person: "bob" } }), job("j2", "B")];
    const parts = { jobs: jobs(list) };
    await runChatCommand({ name: "cron", text: "run j1" }, contextOf({ parts }, asked));
    await runChatCommand({ name: "cron", text: "run j2" }, contextOf({ parts }, asked));
    const about = asked
      .filter(({ action }) => action === "chat_cron")
      .map(({ target, of, rights }) => [target, of, rights]);
    expect(about).toEqual([
      ["job:j1", "bob", ["schedule"]],
      ["job:j2", OWNER, ["schedule"]],
    ]);
    const cron = commandNamed("cron");
    expect(await cron?.run?.("run j1", contextOf({ parts, denied: "it is bob's" }))).toEqual({
      text: "⚙️ You may not change A: it is bob's.",
    });
  });
  test("fails with what may be tried again", async () => {
    const busy = { ...jobs(), list: async () => Promise.reject(new ConflictError("busy")) };
    await expect(run("cron", "", { parts: { jobs: busy } })).rejects.toThrow("busy");
  });
});
