/** What one tick of the heartbeat decides: the reasons to skip it in their order, its text, its agent and its recipient. */
import { describe, expect, test } from "vitest";
import type { Gate } from "../../../core/schedule/job.ts";
import { decideTick, type TickDecision, type TickPorts } from "./decide-tick.ts";
import { resolveHeartbeatSummary } from "./heartbeat-config.ts";

const NOW = Date.parse("2026-06-15T12:00:00Z");
const DAY = 86_400_000;
const TIME = "Current time: 2026-06-15 12:00:00 (UTC)";
const MAIN = "agent:main:main";
const BEAT = "agent:main:heartbeat";
const PROMPT = "look around";

type TickRequest = Parameters<typeof decideTick>[1];

interface World {
  readonly heartbeat?: TickRequest["heartbeat"];
  readonly request?: Partial<TickRequest>;
  readonly ports?: Partial<TickPorts>;
  /** The agents that exist, by their session key: how they are busy. */
  readonly agents?: Readonly<Record<string, { readonly runId?: string; readonly waiting?: number }>>;
  /** Texts of events that wait in the main conversation. */
  readonly events?: readonly string[];
  readonly mainKey?: string;
}

function decide({ heartbeat = {}, request = {}, ports = {}, agents = {}, events = [], mainKey }: World = {}) {
  const main = mainKey ?? MAIN;
  const known = Object.entries(events.length > 0 ? { [main]: {}, ...agents } : agents);
  const store = {
    agentByKey: async (key: string) =>
      known.filter(([name]) => name === key).map(([id, busy]) => ({ id, waiting: 0, ...busy }))[0],
    runs: async () => [],
    messages: async (id: string) =>
      id === main
        ? events
            .map((text, index) => ({
              seq: index + 1,
              acceptedAt: NOW - DAY,
              body: { kind: "system", text, origin: "cron:j", silent: true },
            }))
            .toReversed()
        : [],
  };
  const people = { addressOf: async (person: string) => ({ channel: "chat", to: person }) };
  const sections = { heartbeat: { prompt: PROMPT, ...heartbeat }, profiles: {} };
  return decideTick({ store, people, ...ports } as never, {
    profile: "main",
    heartbeat: sections.heartbeat,
    summary: resolveHeartbeatSummary(sections, "main"),
    job: undefined,
    slot: "1@5",
    now: NOW,
    reason: "interval",
    zones: { host: "UTC" },
    ...request,
  });
}

const skipped = (decision: TickDecision): string | undefined =>
  decision.kind === "skip" ? decision.reason : undefined;

function posted(decision: TickDecision) {
  if (decision.kind !== "post") throw new Error(`skipped: ${decision.reason}`);
  return decision;
}

const textOf = (message: { readonly body: object } | undefined): string | undefined =>
  (message?.body as { text?: string } | undefined)?.text;

const file = (text: string | undefined) => ({ heartbeatFile: async () => text });
const task = (id: string, more: object = {}) => ({ id, title: id, prompt: `do ${id}`, ...more });
const tasks = (...all: readonly ReturnType<typeof task>[]) => ({ tasks: async () => all });
const spent = (cost: number, at = NOW) =>
  ({ job: { id: "heartbeat:main", state: { spent: { day: Math.floor(at / DAY), cost } } } }) as never;

describe("a tick is skipped", () => {
  test.each<readonly [string, World, string | undefined]>([
    ["if the heartbeat is off", { heartbeat: { every: "0" } }, "disabled"],
    ["outside its hours", { heartbeat: { activeHours: { start: "13:00", timezone: "UTC" } } }, "quiet-hours"],
    ["while its agent runs", { agents: { [BEAT]: { runId: "r" } } }, "requests-in-flight"],
    ["while a message waits for its agent", { agents: { [BEAT]: { waiting: 1 } } }, "requests-in-flight"],
    ["not while its agent is idle", { agents: { [BEAT]: {} } }, undefined],
    ["not while another agent runs", { agents: { [MAIN]: { runId: "r" } } }, undefined],
    [
      "while the main agent runs, if it speaks there",
      { agents: { [MAIN]: { runId: "r" } }, heartbeat: { session: "main" } },
      "requests-in-flight",
    ],
    [
      "while the agent of its session runs",
      { agents: { "agent:main:x": { waiting: 2 } }, heartbeat: { session: "agent:main:x" } },
      "requests-in-flight",
    ],
    ["without a usable model", { ports: { modelProblem: () => "no key" } }, "model: no key"],
    ["not with a usable model", { ports: { modelProblem: () => undefined } }, undefined],
    ["at its dollars of a day", { heartbeat: { dollarsPerDay: 2 }, request: spent(2) }, "budget"],
    ["not below them", { heartbeat: { dollarsPerDay: 2 }, request: spent(1.99) }, undefined],
    ["not for those of yesterday", { heartbeat: { dollarsPerDay: 2 }, request: spent(9, NOW - DAY) }, undefined],
    ["not without a limit", { request: spent(1_000) }, undefined],
    ["not before it has spent anything", { heartbeat: { dollarsPerDay: 2 } }, undefined],
    ["if it may spend nothing", { heartbeat: { dollarsPerDay: 0 } }, "budget"],
    ["if its file is empty", { ports: file("# nothing") }, "empty-heartbeat-file"],
    ["not without a file", { ports: file(undefined) }, undefined],
    ["not with an empty file if a program waits", { ports: file(""), request: { reason: "exec-event" } }, undefined],
    [
      "if its file is empty, also on request",
      { ports: file(""), request: { reason: "manual" } },
      "empty-heartbeat-file",
    ],
    ["not if there are events", { ports: file(""), events: ["parcel"] }, undefined],
    [
      "if the events are for a main agent that is busy",
      { ports: file(""), events: ["parcel"], agents: { [MAIN]: { runId: "r" } } },
      "empty-heartbeat-file",
    ],
    [
      "if a message waits for the main agent, which will show the events",
      { ports: file(""), events: ["parcel"], agents: { [MAIN]: { waiting: 1 } } },
      "empty-heartbeat-file",
    ],
  ])("%s", async (_when, world, reason) => {
    expect(skipped(await decide(world))).toBe(reason);
  });

  test("the model that is asked about is the heartbeat's", async () => {
    const asked: unknown[] = [];
    const modelProblem = (...given: unknown[]): undefined => {
      asked.push(given);
    };
    await decide({ heartbeat: { model: "a/b" }, ports: { modelProblem } });
    await decide({ ports: { modelProblem } });
    expect(asked).toEqual([
      ["main", "a/b"],
      ["main", undefined],
    ]);
  });
});

describe("the text", () => {
  const heard = async (world: World): Promise<string | undefined> => textOf(posted(await decide(world)).message);

  test("is the prompt and the time, in the person's zone if it is known", async () => {
    expect(await heard({})).toBe(`${PROMPT}\n\n${TIME}`);
    expect(await heard({ heartbeat: { session: "main" } })).toBe(`${PROMPT}\n\n${TIME}`);
    expect(await heard({ request: { zones: { host: "UTC", user: "Asia/Tokyo" } } })).toBe(
      `${PROMPT}\n\nCurrent time: 2026-06-15 21:00:00 (Asia/Tokyo)`,
    );
  });

  test.each<readonly [string, string | undefined, readonly string[], string]>([
    ["no file and no task", undefined, [], PROMPT],
    ["no file and one task", undefined, ["a"], "do a"],
    ["an empty file and one task", "", ["a"], "do a"],
    ["a file and one task", "- mail", ["a"], `${PROMPT}\n\ndo a`],
    ["a file and no task", "- mail", [], PROMPT],
  ])("with %s", async (_what, content, names, expected) => {
    const ports = { ...file(content), ...tasks(...names.map((name) => task(name))) };
    expect(await heard({ ports })).toBe(`${expected}\n\n${TIME}`);
  });

  test("has the tasks that are stored with the job and those of files", async () => {
    const job = { id: "heartbeat:main", state: {}, tasks: [task("stored")] } as never;
    expect(await heard({ ports: tasks(task("filed")), request: { job } })).toBe(
      "# Heartbeat run\n\nRun all 2 heartbeat tasks together. Keep results grouped by task.\n\n" +
        `## 1. filed\nid: filed\n\ndo filed\n\n## 2. stored\nid: stored\n\ndo stored\n\n${TIME}`,
    );
  });

  const command: Gate = { kind: "command", command: "true" };
  const http: Gate = { kind: "http", url: "http://gate.test/" };
  const gated = (gate: Gate, verdict: object | undefined, more: object = {}): World => ({
    ports: {
      ...file(""),
      ...tasks(task("a", { gate, ...more })),
      ...{ gates: verdict ? { check: async () => verdict as never } : undefined },
    },
  });

  test("has a task only if its gate passes, with what the gate says", async () => {
    expect(await heard(gated(command, { pass: true, output: "2 mails" }))).toBe(
      `do a\n\n[Gate output]\n2 mails\n\n${TIME}`,
    );
    expect(await heard(gated(command, { pass: true, output: "" }))).toBe(`do a\n\n${TIME}`);
    expect(skipped(await decide(gated(command, { pass: false, reason: "no" })))).toBe("empty-heartbeat-file");
    // Without anyone who can check a gate it does not pass.
    expect(skipped(await decide(gated(command, undefined)))).toBe("empty-heartbeat-file");
  });

  test("has several tasks under their names, without those whose gate does not pass", async () => {
    const check = async (gate: Gate) =>
      gate === http ? ({ pass: false, reason: "no" } as const) : ({ pass: true, output: "2 mails" } as const);
    const all = tasks(task("a", { gate: command }), task("b", { gate: http }), task("c"));
    expect(await heard({ ports: { ...file(""), ...all, gates: { check } } })).toBe(
      "# Heartbeat run\n\nRun all 2 heartbeat tasks together. Keep results grouped by task.\n\n" +
        `## 1. a\nid: a\n\ndo a\n\n[Gate output]\n2 mails\n\n## 2. c\nid: c\n\ndo c\n\n${TIME}`,
    );
  });

  test("a gate is asked with a signal", async () => {
    const given: unknown[] = [];
    const check = async (gate: Gate, signal: AbortSignal) => {
      given.push(gate, signal.aborted);
      return { pass: true, output: "" } as const;
    };
    await decide({ ports: { ...tasks(task("a", { gate: http }), task("b")), gates: { check } } });
    expect(given).toEqual([http, false]);
  });

  test.each<readonly [string, World, true | undefined]>([
    ["of a task without a mark is not marked", { ports: tasks(task("a")) }, undefined],
    ["of a task whose file has a mark is marked", { ports: tasks(task("a"), task("b", { untrusted: true })) }, true],
    ["with what a gate read from the network is marked", gated(http, { pass: true, output: "x" }), true],
    ["with what a command said is not marked", gated(command, { pass: true, output: "x" }), undefined],
    [
      "with what a command said keeps the task's mark",
      gated(command, { pass: true, output: "x" }, { untrusted: true }),
      true,
    ],
    ["without output of the network is not marked", gated(http, { pass: true, output: "" }), undefined],
    ["of the prompt alone is not marked", {}, undefined],
  ])("%s", async (_what, world, untrusted) => {
    for (const session of [undefined, "main"]) {
      const { message } = posted(await decide({ ...world, heartbeat: { session } }));
      expect(message.behalf).toEqual(untrusted ? { person: "owner", untrusted } : { person: "owner" });
    }
  });

  const EVENTS =
    "System: [2026-06-14 12:00:00 (UTC)] parcel\nHandle these events now. If nothing needs attention, reply HEARTBEAT_OK.";

  test("of events goes to the main agent, in a message of its own if the heartbeat speaks elsewhere", async () => {
    const both = posted(await decide({ events: ["parcel"] }));
    expect([textOf(both.message), textOf(both.events)]).toEqual([`${PROMPT}\n\n${TIME}`, EVENTS]);
    expect(both.events?.to).toMatchObject({ sessionKey: MAIN });
    const one = posted(await decide({ events: ["parcel"], heartbeat: { session: "main" } }));
    expect([textOf(one.message), one.events]).toEqual([`${PROMPT}\n\n${TIME}\n\n${EVENTS}`, undefined]);
    const alone = posted(await decide({ events: ["parcel"], ports: file("") }));
    expect([textOf(alone.message), alone.events]).toEqual([EVENTS, undefined]);
    expect(alone.message.to).toMatchObject({ sessionKey: MAIN });
    const there = posted(await decide({ events: ["parcel"], ports: file(""), heartbeat: { session: "main" } }));
    expect([textOf(there.message), there.events]).toEqual([EVENTS, undefined]);
  });

  test("of events is not marked with the task of another message, and names times in the person's zone", async () => {
    const zones = { host: "UTC", user: "Asia/Tokyo" };
    const ports = tasks(task("a", { untrusted: true }));
    const { events } = posted(await decide({ events: ["parcel"], ports, request: { zones } }));
    expect(events?.behalf).toEqual({ person: "owner" });
    expect(textOf(events)).toContain("[2026-06-14 21:00:00 (Asia/Tokyo)] parcel");
  });

  test("without events has no second message", async () => {
    expect(posted(await decide({ agents: { [MAIN]: {} } })).events).toBeUndefined();
    const busy = { agents: { [MAIN]: { runId: "r" } } };
    expect(posted(await decide({ ...busy, events: ["parcel"] })).events).toBeUndefined();
  });
});

describe("the agent", () => {
  test.each<readonly [string, World, object]>([
    ["its own", {}, { descriptor: { type: "heartbeat" }, profile: "main" }],
    ["the main one", { heartbeat: { session: "main" } }, { profile: "main", sessionKey: MAIN }],
    [
      "the main one under its configured name",
      { heartbeat: { session: "main" }, request: { mainKey: "home" } },
      { profile: "main", sessionKey: "agent:main:home" },
    ],
    ["that of a session", { heartbeat: { session: "agent:main:x" } }, { profile: "main", sessionKey: "agent:main:x" }],
  ])("is %s", async (_whose, world, to) => {
    const { message } = posted(await decide(world));
    expect(message.to).toMatchObject(to);
    expect("sessionKey" in message.to).toBe("sessionKey" in to);
  });

  test("for events is the main one under its configured name", async () => {
    const request = { mainKey: "home" };
    const { events } = posted(await decide({ request, mainKey: "agent:main:home", events: ["parcel"] }));
    expect(events?.to).toMatchObject({ sessionKey: "agent:main:home" });
  });
});

describe("the message", () => {
  test("names the slot and the job, and the person whom the job is for", async () => {
    const job = { id: "own", state: {}, behalf: { person: "ann" } } as never;
    const { message } = posted(await decide({ request: { job } }));
    expect(message).toMatchObject({
      body: { kind: "trigger", trigger: { type: "heartbeat", id: "own", slot: "1@5" } },
      behalf: { person: "ann" },
    });
    const marked = posted(await decide({ request: { job }, ports: tasks(task("a", { untrusted: true })) }));
    expect(marked.message.behalf).toEqual({ person: "ann", untrusted: true });
  });

  test("without a job names the one that the profile would have, and is for the owner", async () => {
    const { message } = posted(await decide());
    expect(message).toMatchObject({ body: { trigger: { id: "heartbeat:main" } }, behalf: { person: "owner" } });
  });

  test("wishes for the heartbeat's model, if it has one", async () => {
    const { message } = posted(await decide({ heartbeat: { model: "a/b" } }));
    expect(message.body).toMatchObject({ wishes: { model: "a/b" } });
    expect((posted(await decide()).message.body as { wishes?: object }).wishes).toBeUndefined();
  });

  test.each([
    ["last", { channel: "chat", to: "owner" }],
    ["none", undefined],
    ["telegram:5", { channel: "telegram", to: "5" }],
    ["nowhere", { to: "nowhere" }],
  ])("for the target %s is answered at %j", async (target, delivery) => {
    const { message, events } = posted(await decide({ heartbeat: { target }, events: ["parcel"] }));
    expect([message.delivery, events?.delivery]).toEqual([delivery, delivery]);
  });
});
