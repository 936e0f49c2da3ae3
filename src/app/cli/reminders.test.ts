/** "Remind me in ten minutes": one message at that time and no second one, and silence only if it was asked for (M46). */
import { afterEach, describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { lastText, type Script } from "../../../test/kit/model.ts";
import { cronTool } from "../../adapters/tools/schedules/cron-tool.ts";
import { deliveryStateSchema } from "../../core/delivery/delivery.ts";
import { syncTaskFiles } from "../../engine/triggers/files/sync-task-files.ts";
import { RestartingGateway } from "../gateway/restarting.test-kit.ts";
import { jobFrom } from "./commands/job-flags.ts";

const MINUTE = 60_000;
const IN = { kind: "at", inMs: 10 * MINUTE } as const;
const EVENT = { name: "tea", schedule: IN, payload: { kind: "systemEvent", text: "Tea." } } as const;

let world: RestartingGateway;
let asked: object = EVENT;
afterEach(() => world.close());

/** Schedules what the test asks for. Every prompt that mentions tea is answered with the reminder, even that of a heartbeat. */
const script: Script = ({ request }) => {
  const last = request.messages.at(-1);
  if (last?.role === "tool") return "Yes.";
  const text = lastText(request);
  if (text.includes("remind me")) return { call: [{ name: "cron", with: { action: "add", job: asked } }] };
  if (text.includes("Tea.")) return "It is time for tea.";
  return text.includes("HEARTBEAT") ? "HEARTBEAT_OK" : "Hello.";
};

async function open(heartbeat: string): Promise<void> {
  world = await RestartingGateway.open({
    script,
    config: { heartbeat: { every: heartbeat } },
    channels: [channel("telegram"), channel("whatsapp")],
    tools: {
      cron: {
        execute(input, context) {
          const tool = cronTool(world.world.cron);
          return tool.execute(tool.input.parse(input), context);
        },
      },
    },
  });
}

const post = async (body: object): Promise<void> => {
  const { status } = await world.ask({ method: "POST", path: "/api/cron", body });
  expect(status).toBe(201);
  await world.engine.settle();
};
const tell = (on: string) => async (job: object) => {
  asked = job;
  await world.engine.tell("remind me", { on });
};

/** Each way to ask, with the obvious words: none of them names a wake mode or a recipient. */
const WAYS: readonly (readonly [string, (on: string) => Promise<unknown>])[] = [
  ["the tool, as an event", (on) => tell(on)(EVENT)],
  ["the tool, as a turn", (on) => tell(on)({ name: "tea", schedule: IN, payload: { message: "Tea." } })],
  ["the command line, as an event", () => post(jobFrom({ name: "tea", at: "10m", "system-event": "Tea." }))],
  ["the command line, as a message", () => post(jobFrom({ name: "tea", at: "10m", message: "Tea." }))],
  ["the API", () => post(EVENT)],
  ["the page", () => post({ name: "tea", schedule: IN, payload: { message: "Tea." } })],
];

/** Each delivered reminder: its channel, state and time. */
async function reminders() {
  const deliveries = await world.store.deliveries({ limit: 100, states: deliveryStateSchema.options });
  return deliveries
    .filter(({ payload }) => payload.text?.includes("time for tea"))
    .map(({ target, createdAt, state }) => `${target.channel} ${state} ${createdAt}`);
}

// Every way on every real connector: test/channels/reminders.test.ts.
describe("a reminder", () => {
  it.each(WAYS.flatMap(([way, ask]) => ["30m", "0"].map((heartbeat) => [way, heartbeat, ask] as const)))(
    "by %s is not repeated by later heartbeats, every %s",
    async (_way, heartbeat, ask) => {
      const on = "telegram";
      await open(heartbeat);
      await world.engine.tell("hello", { on });
      await ask(on);
      const due = world.world.clock.now() + 10 * MINUTE;
      await world.world.leap(10 * MINUTE - 1);
      expect(await reminders()).toEqual([]);
      await world.world.leap(1);
      expect(await reminders()).toEqual([`${on} sent ${due}`]);
      await world.world.leap(31 * MINUTE);
      await world.world.leap(31 * MINUTE);
      expect(await reminders()).toEqual([`${on} sent ${due}`]);
    },
  );
});

describe("silence", () => {
  it.each([
    ["deliver: false", { ...EVENT, payload: { message: "Tea.", deliver: false } }],
    ["--no-deliver", jobFrom({ name: "tea", at: "10m", message: "Tea.", "no-deliver": true })],
  ])("is what %s asks for", async (_asked, job) => {
    await open("0");
    await world.engine.tell("hello", { on: "telegram" });
    await post(job);
    await world.world.leap(10 * MINUTE);
    expect([await reminders(), (await world.engine.deliveries()).length]).toEqual([[], 1]);
  });
});

describe("a job that could not be fired", () => {
  const turn = (more: object) => ({ ...EVENT, payload: { kind: "agentTurn", message: "Tea.", ...more } });
  const TASK = "---\nname: tea\ntaskId: tz4a98xxat96iws9zmbrgj3a\nschedule: 0 9 * * *\ntimeoutSeconds: 0\n---\nTea.\n";

  it.each([{ timeoutSeconds: 0 }, { timeoutSeconds: -1 }, { model: "" }, { thinking: "" }, { to: " " }])(
    "is refused by the API, the tool and an edit: %j",
    async (field) => {
      await open("0");
      expect((await world.ask({ method: "POST", path: "/api/cron", body: turn(field) })).status).toBe(400);
      await tell("telegram")(turn(field));
      expect(await world.store.jobs()).toEqual([]);
      const { json } = await world.ask({ method: "POST", path: "/api/cron", body: turn({}) });
      const path = `/api/cron/${(json as { id: string }).id}`;
      expect((await world.ask({ method: "PATCH", path, body: { payload: field } })).status).toBe(400);
    },
  );

  it("is refused in a task file", async () => {
    await open("0");
    const ports = world.engine.ports({ alive: true, name: "files" });
    expect(await syncTaskFiles(ports, "main", [{ path: "cron/tea/TASK.md", text: TASK }])).toMatchObject([
      { reason: expect.stringContaining("timeoutSeconds") },
    ]);
  });

  it("is turned off if an earlier version stored it, with one notice to its person", async () => {
    await open("30m");
    await tell("telegram")(turn({}));
    const [job] = await world.store.jobs();
    if (job?.payload.kind !== "agentTurn") throw new TypeError("no job");
    await world.engine.put({ op: "job.put", job: { ...job, payload: { ...job.payload, timeoutSeconds: 0 } } });
    await world.world.leap(10 * MINUTE);
    await world.world.leap(31 * MINUTE);
    await world.restart();
    await world.world.leap(31 * MINUTE);
    expect((await world.store.job(job.id))?.enabled).toBe(false);
    const told = world.engine.shown("telegram").filter((text) => text.includes("turned off"));
    expect(told).toEqual([expect.stringMatching(/^⚠️ The cron job "tea" was turned off: .*timeoutSeconds/su)]);
  });
});
