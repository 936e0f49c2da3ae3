import { expect, test } from "vitest";
import { START } from "../../../test/kit/clock.ts";
import type { ToolAsk } from "../../../test/kit/model.ts";
import { cronTaskTools } from "../../adapters/tools/schedules/cron-task-tools.ts";
import { cronTool } from "../../adapters/tools/schedules/cron-tool.ts";
import { heartbeatTools } from "../../adapters/tools/schedules/heartbeat-tools.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { ChangeId, RunId } from "../../core/ids.ts";
import type { Tool, ToolOutput } from "../../core/ports/tool.ts";
import { TriggerTestEngine } from "./triggers.test-kit.ts";

const MINUTE = 60_000;

async function open() {
  const world = await TriggerTestEngine.open({ settings: { heartbeat: { every: undefined } } });
  await world.engine.tell("hello");
  await world.engine.tell("hello too", { name: "bob" });
  const tools = [
    cronTool(world.cron),
    ...cronTaskTools(world.cron),
    ...heartbeatTools(world.triggers.heartbeat),
  ] as Tool[];
  const agentOf = async (name: string) => (await world.store.agent(await world.engine.agentId(name))) as AgentRecord;
  /** Calls a tool as the loop does: validated, and its ops committed with nothing else. */
  const call = async (agent: AgentRecord, name: string, given: object): Promise<unknown> => {
    const tool = tools.find((one) => one.name === name) as Tool;
    const context = {
      agent,
      agentId: agent.id,
      runId: "r" as RunId,
      callId: "c",
      effectKey: "k",
      signal: new AbortController().signal,
      progress() {},
    };
    const output: ToolOutput = await tool.execute(tool.input.parse(given), context);
    if (output.ops?.length) {
      const ids = world.engine.ports({ alive: true, name: `tool${Math.random()}` }).ids;
      const result = await world.store.commit({
        id: ids.change(),
        site: "tool",
        at: world.clock.now(),
        ops: output.ops,
      });
      if (!result.ok) throw new TypeError(result.detail);
      world.triggers.wake();
      await world.engine.settle();
    }
    const text = output.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
  };
  return { world, call, ann: await agentOf("ann"), bob: await agentOf("bob") };
}

const reminder = {
  name: "tea",
  schedule: { kind: "at", at: "2026-01-05T09:10:00Z" },
  wakeMode: "now",
  payload: { text: "Tea." },
};

test("cron adds, lists, updates, runs and removes a job, and lists its runs", async () => {
  const { world, call, ann } = await open();
  const { id, when, next } = (await call(ann, "cron", {
    action: "add",
    job: {
      name: "mail",
      schedule: { expr: "0 9 * * 1-5", tz: "Europe/Berlin" },
      payload: { message: "look at the mail" },
    },
  })) as { id: string; when: string; next: string[] };
  expect(when).toBe("At 09:00 on Monday to Friday (Europe/Berlin)");
  expect(next).toEqual([
    "2026-01-06 09:00:00 (Europe/Berlin)",
    "2026-01-07 09:00:00 (Europe/Berlin)",
    "2026-01-08 09:00:00 (Europe/Berlin)",
  ]);
  expect(await call(ann, "cron", { action: "list" })).toMatchObject([{ id, name: "mail" }]);
  await call(ann, "cron", { action: "update", jobId: id, patch: { name: "post" } });
  await call(ann, "cron", { action: "run", jobId: id });
  // No wake-up was sent for this commit: the poll finds the message.
  await world.advance(31_000);
  const runs = (await call(ann, "cron", { action: "runs", id })) as { slot: string; end: { status: string } }[];
  expect(runs).toMatchObject([{ status: "fired", end: { status: "ok" } }]);
  expect(runs[0]?.slot).toMatch(/^manual@/);
  expect(await world.job(id)).toMatchObject({ name: "post", state: { lastStatus: "ok" } });
  await call(ann, "cron", { action: "remove", jobId: id });
  expect(await call(ann, "cron", { action: "list" })).toEqual([]);
});

test("a reminder goes only to the conversation it was created in", async () => {
  const { world, call, bob } = await open();
  const guest = {
    id: "bob",
    role: "guest",
    accounts: ["test:bob"],
    grants: [],
    createdAt: 1,
    createdBy: "owner",
  } as const;
  const ops = [{ op: "person.put", person: guest }] as const;
  await world.store.commit({ id: "guest" as ChangeId, site: "test", at: 1, ops });
  await call(bob, "cron", { action: "add", job: reminder });
  await world.leap(10 * MINUTE);
  const sent = world.engine.channel().calls.at(-1);
  expect([sent?.target.to, sent?.payload.text?.includes("Tea.")]).toEqual(["bob", true]);
});

test("an agent cannot see or change the jobs of another conversation", async () => {
  const { call, ann, bob } = await open();
  const { id } = (await call(ann, "cron", { action: "add", job: reminder })) as { id: string };
  expect(await call(bob, "cron", { action: "list" })).toEqual([]);
  for (const given of [
    { action: "remove" },
    { action: "run" },
    { action: "runs" },
    { action: "update", patch: { name: "x" } },
  ]) {
    await expect(call(bob, "cron", { ...given, jobId: id })).rejects.toThrow("another conversation");
  }
  await expect(call(bob, "cron_delete_task", { taskId: id })).rejects.toThrow("another conversation");
});

test.each([
  [{ action: "remove", jobId: "../../etc" }, "Cron task id contains invalid characters."],
  [{ action: "remove", jobId: ".." }, "Cron task id contains invalid characters."],
  [{ action: "remove" }, "Cron task id is required."],
  [{ action: "run", jobId: "unknown" }, "unknown cron job id: unknown"],
  [{ action: "add" }, "job required"],
  [{ action: "add", job: { ...reminder, name: " " } }, "cron job name is required"],
  [{ action: "add", job: { ...reminder, schedule: { expr: "5abc * * * *" } } }, "Invalid cron schedule: 5abc * * * *"],
  [{ action: "add", job: { ...reminder, schedule: { at: "2020-01-01T00:00:00Z" } } }, "That time is in the past"],
  [{ action: "add", job: { ...reminder, schedule: { at: "soon" } } }, '"soon" is not a time.'],
  [
    { action: "add", job: { ...reminder, sessionTarget: "isolated" } },
    'isolated cron jobs require payload.kind="agentTurn"',
  ],
  [
    { action: "add", job: { ...reminder, sessionTarget: "main", payload: { message: "x" } } },
    'main cron jobs require payload.kind="systemEvent"',
  ],
  [
    { action: "add", job: { ...reminder, gate: { kind: "command", command: "rm -rf /" } } },
    "only be written into a TASK.md",
  ],
  [{ action: "add", job: { job: { ...reminder, gate: { command: "x" } } } }, "only be written into a TASK.md"],
  [{ action: "wake", text: " " }, "text required"],
])("%j is refused with the reason", async (given, message) => {
  const { call, ann } = await open();
  await expect(call(ann, "cron", given)).rejects.toThrow(message);
});

test("wrappers, plain expressions and old names are understood", async () => {
  const { world, call, ann } = await open();
  const { id } = (await call(ann, "cron", {
    action: "add",
    job: {
      data: {
        name: "a",
        enabled: "true",
        schedule: "0 9 * * *",
        payload: { message: "m", provider: " Telegram ", to: "1" },
      },
    },
  })) as { id: string };
  expect(await world.job(id)).toMatchObject({
    enabled: true,
    payload: { kind: "agentTurn", channel: "telegram", to: "1" },
    wakeMode: "now",
    sessionTarget: "isolated",
  });
  await expect(world.cron.update(id, { payload: { kind: "systemEvent" } })).rejects.toThrow(
    'cron.update payload.kind="systemEvent" requires text',
  );
});

test("daycare's tools work on the same jobs, and each task has its own memory", async () => {
  const { world, call, ann } = await open();
  const { taskId } = (await call(ann, "cron_add", { name: "dig", schedule: "*/5 * * * *", prompt: "dig deeper" })) as {
    taskId: string;
  };
  expect(await call(ann, "cron_read_task", { taskId })).toMatchObject({ taskId, prompt: "dig deeper", enabled: true });
  await expect(call(ann, "cron_read_memory", { taskId })).rejects.toThrow("Only a scheduled task has a memory");
  await world.leap(5 * MINUTE);
  const own = (await world.store.agentByKey(`cron:${taskId}` as never)) as AgentRecord;
  expect(await call(own, "cron_read_memory", {})).toBe("No memory");
  await call(own, "cron_write_memory", { content: "got to 3 m" });
  await call(own, "cron_write_memory", { content: "and 4 m", append: true });
  expect(await call(own, "cron_read_memory", {})).toBe("got to 3 m\nand 4 m");
  expect(await call(own, "cron_read_task", {})).toMatchObject({ taskId });
  await expect(call(own, "cron_read_memory", { taskId: "other" })).rejects.toThrow("its own memory only");
  await call(ann, "cron_delete_task", { taskId });
  expect(await world.store.job(taskId)).toBeUndefined();
});

test("heartbeat tasks are added, replaced, listed and removed, and are part of the next tick", async () => {
  const { world, call, ann } = await open();
  expect(await call(ann, "heartbeat_add", { title: "The Mail!", prompt: "look at the mail" })).toMatchObject({
    id: "the-mail",
  });
  await call(ann, "heartbeat_add", { id: "disk", title: "Disk", prompt: "look at the disk" });
  await call(ann, "heartbeat_add", { id: "disk", title: "Disk", prompt: "look at both disks" });
  expect(await call(ann, "heartbeat_list", {})).toMatchObject([
    { id: "the-mail" },
    { id: "disk", prompt: "look at both disks" },
  ]);
  await expect(call(ann, "heartbeat_add", { id: "../x", title: "t", prompt: "p" })).rejects.toThrow(
    "invalid characters",
  );
  await world.leap(30 * MINUTE);
  expect(world.engine.sentBytes.at(-1)).toContain("Run all 2 heartbeat tasks together.");
  await call(ann, "heartbeat_remove", { id: "disk" });
  await expect(call(ann, "heartbeat_remove", { id: "disk" })).rejects.toThrow("There is no heartbeat task disk.");
});

test("a tool's change is committed once with its result, also after a crash in between", async () => {
  const world = await TriggerTestEngine.open({ tools: {} });
  const tool = cronTool(world.cron) as Tool;
  const ask: ToolAsk = {
    id: "c1",
    name: "cron",
    with: { action: "add", job: { ...reminder, schedule: { inMs: 60_000 } } },
  };
  world.engine.options = {
    ...world.engine.options,
    tools: { cron: { replay: "safe", input: tool.input, execute: (input, context) => tool.execute(input, context) } },
  };
  await world.restart();
  let asked = 0;
  world.engine.script = () => (asked++ === 0 ? { call: [ask] } : "done");
  world.engine.onCommit = (change, nth) => (change.site === "result" && nth === 1 ? "die-before" : "go");
  await world.engine.tell("remind me");
  await world.restart();
  await world.engine.settle();
  expect((await world.cron.list()).map(({ name }) => name)).toEqual(["tea"]);
  expect((await world.cron.list())[0]?.state.nextRunAtMs).toBe(START + MINUTE);
});

test("a job that a tool adds fires at its due time, not at the broker's next poll", async () => {
  const world = await TriggerTestEngine.open({ tools: {} });
  const tool = cronTool(world.cron) as Tool;
  const job = { ...reminder, schedule: { inMs: 5_000 } };
  world.engine.options = {
    ...world.engine.options,
    tools: { cron: { replay: "safe", input: tool.input, execute: (input, context) => tool.execute(input, context) } },
  };
  await world.restart();
  let asked = 0;
  world.engine.script = () =>
    asked++ === 0 ? { call: [{ id: "c1", name: "cron", with: { action: "add", job } }] } : "done";
  await world.engine.tell("remind me");
  const [added] = await world.cron.list();
  await world.advance(6_000);
  expect(await world.slots(added?.id ?? "")).toMatchObject([{ status: "fired", dueAt: START + 5_000 }]);
});
