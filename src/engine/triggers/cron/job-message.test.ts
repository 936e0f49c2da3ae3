import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import type { AgentId, Ids, SessionKey } from "../../../core/ids.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import {
  addressFrom,
  behalfOfJob,
  type Firing,
  type JobMessage,
  type JobPorts,
  jobMessage,
  mainAddress,
  mainKeyOf,
  mainOf,
  profileOf,
  seedMain,
} from "./job-message.ts";

const NOW = Date.parse("2026-01-31T09:00:00Z");
const FIRING: Firing = { slot: "1@5", dueAt: NOW - 5_000, lateMs: 5_000, now: NOW, zone: "UTC" };
const TRIGGER = { type: "cron", id: "j", slot: "1@5" };

const jobOf = (rest: Partial<CronJob> = {}): CronJob => ({
  id: "j",
  name: "mail",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 1,
  schedule: { kind: "every", everyMs: 1_000, anchorMs: 0 },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "look" },
  state: {},
  ...rest,
});

const recordOf = (id: string, key: string): AgentRecord =>
  ({ id: id as AgentId, sessionKey: key as SessionKey, descriptor: { type: "user" } }) as AgentRecord;

function portsOf(agents: Record<string, string> = {}, person: string | undefined = "ann") {
  const store: Pick<StoreReader, "agentByKey"> = {
    agentByKey: async (key) => (agents[key] === undefined ? undefined : recordOf(agents[key], key)),
  };
  const people = {
    addressOf: async (person: string): Promise<DeliveryContext> => ({ to: `route to ${person}` }),
    addressOfConversation: async (key: SessionKey): Promise<DeliveryContext> => ({ to: `route of ${key}` }),
    directory: { now: async () => ({ standing: () => ({ role: "guest" }) }) },
    personOf: async () => person,
  } as unknown as JobPorts["people"];
  return { store, people };
}
const made = (job: Partial<CronJob>, firing: Partial<Firing> = {}): Promise<JobMessage> =>
  jobMessage(portsOf(), jobOf(job), { ...FIRING, ...firing });
const textOf = ({ body }: JobMessage): string => ("text" in body ? String(body.text) : "");

describe("the message of an isolated job", () => {
  test("names the job and the time, in a session of its own", async () => {
    expect(await made({})).toEqual({
      to: { descriptor: { type: "cron", id: "j", name: "mail" }, profile: "main" },
      body: {
        kind: "trigger",
        text: "[cron:j mail] look\nCurrent time: 2026-01-31 09:00:00 (UTC)",
        trigger: TRIGGER,
      },
      delivery: { to: "route to owner" },
      behalf: { person: "owner" },
    });
  });

  test.each([
    [60_000, undefined, false],
    [60_001, undefined, true],
    [5, 5, false],
    [6, 5, true],
    [1, 0, true],
  ])("that is %i ms late with a grace of %s ms says so: %s", async (lateMs, graceMs, late) => {
    const text = textOf(await made({}, { lateMs, graceMs }));
    expect(text.includes("\nThis run is late: it was due at 2026-01-31 08:59:55 (UTC).")).toBe(late);
  });

  test.each([
    [{ kind: "cron", expr: "* * * * *", tz: "Asia/Tokyo" }, "2026-01-31 18:00:00 (Asia/Tokyo)"],
    [{ kind: "cron", expr: "* * * * *" }, "2026-01-31 09:00:00 (UTC)"],
    [{ kind: "at", atMs: 5 }, "2026-01-31 09:00:00 (UTC)"],
  ] as const)("of %j tells the time as %s", async (schedule, time) => {
    expect(textOf(await made({ schedule }))).toContain(`Current time: ${time}`);
  });

  test("contains what the gate said; what it read from the network is untrusted", async () => {
    const command = { kind: "command", command: "x" } as const;
    const http = { kind: "http", url: "http://x.test" } as const;
    const behalf = { person: "ann" } as never;
    const said = await made({ gate: command, behalf }, { gateOutput: "3 mails" });
    expect(textOf(said)).toMatch(/\(UTC\)\n\n\[Gate output\]\n3 mails$/);
    expect(said.behalf).toEqual({ person: "ann" });
    expect((await made({ gate: http, behalf }, { gateOutput: "3" })).behalf).toEqual({
      person: "ann",
      untrusted: true,
    });
    expect((await made({ gate: http, behalf })).behalf).toEqual({ person: "ann" });
    expect(textOf(await made({ gate: command }, { gateOutput: "" }))).not.toContain("Gate output");
  });

  test("has its own settings as wishes, and none if there are none", async () => {
    const { body } = await made({ payload: { kind: "agentTurn", message: "m", model: "a/b", thinking: "low" } });
    expect(body).toMatchObject({ wishes: { model: "a/b", thinking: "low" } });
    const plain = await made({ payload: { kind: "agentTurn", message: "m" } });
    expect(plain.body).not.toHaveProperty("wishes.model");
    const timed = await made({ payload: { kind: "agentTurn", message: "m", timeoutSeconds: 5 } });
    expect(timed.body).toMatchObject({ wishes: { timeoutSeconds: 5 } });
  });

  test.each([
    [{}, { to: "route to owner" }],
    [{ deliver: false }, undefined],
    [{ deliver: false, to: "tg:1" }, undefined],
    [{ to: "tg:1" }, { channel: "tg", to: "1" }],
    [{ to: "tg:a:b" }, { channel: "tg", to: "a:b" }],
    [{ to: "nobody" }, { to: "nobody" }],
    [{ to: ":1" }, { to: ":1" }],
    [{ to: "tg:" }, { to: "tg:" }],
    [{ to: "tg: " }, { to: "tg: " }],
    [{ deliver: true }, { to: "route to owner" }],
    [{ deliver: true, channel: "last" }, { to: "route to owner" }],
    [
      { deliver: true, channel: "last", to: "tg:1" },
      { channel: "tg", to: "1" },
    ],
    [
      { deliver: true, channel: "slack", to: "C1" },
      { channel: "slack", to: "C1" },
    ],
    [{ deliver: true, channel: "slack" }, { channel: "slack" }],
    [{ channel: "slack" }, { channel: "slack", to: undefined }],
  ])("with %j is answered to %j", async (more, expected) => {
    const { delivery } = await made({ payload: { kind: "agentTurn", message: "m", ...more } });
    expect(delivery).toEqual(expected);
  });

  test("goes to the conversation it was made in, and is its profile's", async () => {
    const job = jobOf({
      sessionKey: "chat",
      agentId: "work",
      payload: { kind: "agentTurn", message: "", deliver: true },
    });
    expect(await jobMessage(portsOf({ chat: "c" }), job, FIRING)).toMatchObject({
      to: { profile: "work" },
      delivery: { to: "route of chat" },
    });
    expect(await made({ targetAgentId: "a1" })).toMatchObject({ to: { agentId: "a1" } });
  });
});

describe("the message of a main job", () => {
  const payload = { kind: "systemEvent", text: "look" } as const;
  test("runs in the main conversation and is answered where its person wrote last", async () => {
    expect(await made({ payload }, { gateOutput: "x", mainKey: "home" })).toEqual({
      to: {
        descriptor: { type: "user", connector: "terminal", userId: "owner", channelId: "owner" },
        profile: "main",
        sessionKey: "agent:main:home",
      },
      body: { kind: "trigger", text: "look\n\n[Gate output]\nx", trigger: TRIGGER },
      delivery: { to: "route to owner" },
      behalf: { person: "owner" },
    });
  });
  test("that waits for the heartbeat is a silent event without an answer", async () => {
    const said = await made({ payload, wakeMode: "next-heartbeat", sessionKey: "chat" });
    expect(said.delivery).toBeUndefined();
    expect(said).toMatchObject({
      to: { sessionKey: "chat" },
      body: { kind: "system", text: "look", origin: "cron:j", silent: true },
      behalf: { person: expect.anything() },
    });
  });
});

describe("who a job runs for", () => {
  const job = { id: "j", sessionKey: "chat" };
  test.each([
    ["the person it names", { ...job, behalf: { person: "bob" } as never }, { chat: "c" }, "ann", "bob"],
    ["the person of its conversation", job, { chat: "c" }, "ann", "ann"],
    ["the owner if it has no conversation", { id: "j" }, { chat: "c" }, "ann", "owner"],
    ["its own account if the conversation is gone", job, {}, "ann", "job:j"],
    ["its own account if the conversation has no person", job, { chat: "c" }, undefined, "job:j"],
  ])("%s", async (_name, of, agents, person, expected) => {
    const ports = portsOf(agents as Record<string, string>, person);
    if (person === undefined) Object.assign(ports.people, { personOf: async () => undefined });
    expect(String((await behalfOfJob(ports, of)).person)).toContain(expected);
  });
});

describe("the main conversation of a job", () => {
  test.each([
    [{ sessionKey: "chat" }, { chat: "c", "agent:main:main": "m" }, "c"],
    [{ sessionKey: "chat" }, { "agent:main:main": "m" }, "m"],
    [{ sessionKey: "chat", agentId: "work" }, { "agent:work:main": "w", "agent:main:main": "m" }, "w"],
    [{}, { "agent:main:main": "m" }, "m"],
    [{ sessionKey: "chat" }, {}, undefined],
    [{}, {}, undefined],
  ])("of %j among %j is %s", async (job, agents, expected) => {
    expect((await mainOf(portsOf(agents as Record<string, string>).store, job))?.id).toBe(expected);
  });

  test("is not asked for twice if the job has no own one", async () => {
    const asked: string[] = [];
    const store = { agentByKey: async (key: SessionKey) => void asked.push(key) };
    await mainOf(store as never, {}, "home");
    expect(asked).toEqual(["agent:main:home"]);
    await mainOf(store as never, { sessionKey: "chat" }, "home");
    expect(asked.slice(1)).toEqual(["chat", "agent:main:home"]);
  });

  test("has the profile's key before anyone has written to it, and belongs to the owner", () => {
    const ids = new Proxy({}, { get: () => () => "id" }) as Ids;
    const seed = seedMain(ids, { agentId: "work", sessionKey: "chat" }, 5, "home");
    expect(seed).toMatchObject({ sessionKey: "agent:work:home", profile: "work", person: "owner" });
    expect(mainAddress({ agentId: "work", sessionKey: "chat" })).toMatchObject({ sessionKey: "chat" });
    expect(mainKeyOf({})).toBe("agent:main:main");
    expect(profileOf({})).toBe("main");
    expect(addressFrom("a:b")).toEqual({ channel: "a", to: "b" });
  });
});
