/** Automatic session resets, through the whole engine, with a wall clock that each test sets. */
import { describe, expect, it } from "vitest";
import { channel } from "../../../../test/kit/channel.ts";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, type Reply, stall } from "../../../../test/kit/model.ts";
import type { SettingsPart } from "../../../../test/kit/settings.ts";
import type { ResetConfig } from "../../../core/agent/session-freshness.ts";

const resetting = (reset: ResetConfig, timeZone: string): SettingsPart => ({ session: { reset, timeZone } });
const setTo = (engine: TestEngine, time: string): void => engine.clock.jump(Date.parse(time) - engine.clock.now());

/** Sends one word at each time, and returns the words of each session. */
async function sessions(reset: ResetConfig, zone: string, times: readonly string[]): Promise<string> {
  const engine = await TestEngine.open({ settings: resetting(reset, zone) });
  for (const [n, time] of times.entries()) {
    setTo(engine, time);
    await engine.tell(String(n + 1));
  }
  const words = (await engine.transcript()).flatMap((line) =>
    line === "--- reset" ? ["|"] : (line.match(/(?<=^user: ).*/) ?? []),
  );
  return words.join(" ");
}

const DAILY = { mode: "daily", atHour: 4 } as const;
const IDLE = { mode: "idle", idleMinutes: 60 } as const;
const BOTH = { mode: "both", atHour: 4, idleMinutes: 60 } as const;

describe("a session ends automatically", () => {
  it.each<[string, ResetConfig, string, readonly string[], string]>([
    ["at four in the configured zone", DAILY, "Asia/Tokyo", ["2026-05-01T18:59:59Z", "2026-05-01T19:00:00Z"], "1 | 2"],
    ["not at four in another zone", DAILY, "UTC", ["2026-05-01T18:59:59Z", "2026-05-01T19:00:00Z"], "1 2"],
    [
      "when clocks go forward: the night is an hour shorter",
      DAILY,
      "Europe/Berlin",
      ["2026-03-28T20:00Z", "2026-03-29T01:59:59Z", "2026-03-29T02:00Z"],
      "1 2 | 3",
    ],
    [
      "when clocks go back: the night is an hour longer",
      DAILY,
      "Europe/Berlin",
      ["2026-10-24T20:00Z", "2026-10-25T02:59:59Z", "2026-10-25T03:00Z"],
      "1 2 | 3",
    ],
    [
      "at a skipped hour: when the clocks jump",
      { mode: "daily", atHour: 2 },
      "Europe/Berlin",
      ["2026-03-29T00:59:59Z", "2026-03-29T01:00Z"],
      "1 | 2",
    ],
    [
      "at a repeated hour: only the first time",
      { mode: "daily", atHour: 2 },
      "Europe/Berlin",
      ["2026-10-24T23:59:59Z", "2026-10-25T00:00Z", "2026-10-25T01:30Z"],
      "1 | 2 3",
    ],
    [
      "at midnight, on the other side of the date line",
      { mode: "daily", atHour: 0 },
      "Pacific/Auckland",
      ["2026-06-30T11:59:59Z", "2026-06-30T12:00Z", "2026-07-01T11:59:59Z"],
      "1 | 2 3",
    ],
    [
      "after more than an hour of silence, not after exactly one",
      IDLE,
      "UTC",
      ["2026-05-01T10:00Z", "2026-05-01T11:00Z", "2026-05-01T12:00:00.001Z"],
      "1 2 | 3",
    ],
    [
      "by silence before the daily hour, if both are on",
      BOTH,
      "UTC",
      ["2026-05-01T01:00Z", "2026-05-01T02:30Z", "2026-05-01T03:20Z"],
      "1 | 2 3",
    ],
    [
      "at the daily hour before the silence is long enough, if both are on",
      BOTH,
      "UTC",
      ["2026-05-01T03:50Z", "2026-05-01T04:10Z", "2026-05-01T05:00Z"],
      "1 | 2 3",
    ],
    [
      "only once after a long silence",
      BOTH,
      "UTC",
      ["2026-05-01T03:50Z", "2026-06-01T04:10Z", "2026-06-01T04:20Z"],
      "1 | 2 3",
    ],
    ["never if resets are off", { mode: "off" }, "UTC", ["2026-05-01T03:50Z", "2027-05-01T04:10Z"], "1 2"],
  ])("%s", async (_, reset, zone, times, expected) => {
    expect(await sessions(reset, zone, times)).toBe(expected);
  });

  it("follows the rule of its channel", async () => {
    const reset: ResetConfig = { ...DAILY, byChannel: { quiet: { mode: "idle", idleMinutes: 10 } } };
    const engine = await TestEngine.open({
      channels: [channel("test"), channel("quiet")],
      settings: resetting(reset, "UTC"),
    });
    for (const time of ["2026-05-01T10:00Z", "2026-05-01T10:30Z"]) {
      setTo(engine, time);
      for (const on of ["test", "quiet"]) await engine.tell("hi", { on });
    }
    expect(await engine.transcript(await engine.agentId("ann", "test"))).not.toContain("--- reset");
    expect(await engine.transcript(await engine.agentId("ann", "quiet"))).toContain("--- reset");
  });

  it("without counting triggers, silent and system messages as activity", async () => {
    const engine = await TestEngine.open({ settings: resetting(IDLE, "UTC") });
    setTo(engine, "2026-05-01T10:00Z");
    await engine.tell("one");
    setTo(engine, "2026-05-01T10:50Z");
    await engine.send({ kind: "trigger", text: "beat", trigger: { type: "heartbeat", id: "h" } });
    await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.send({ kind: "system", text: "news" });
    await engine.settle();
    setTo(engine, "2026-05-01T11:00:01Z");
    await engine.tell("two");
    expect(engine.requests.at(-1)?.messages).toHaveLength(1);
  });

  it("only after the run that is active at that hour; the next waiting message begins the new session", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      settings: resetting(DAILY, "UTC"),
      script: async (call) => (call.n === 2 ? stall(call, hold.promise) : `answer to ${lastText(call.request)}`),
    });
    setTo(engine, "2026-05-01T03:50Z");
    for (const text of ["one", "two", "three"]) await engine.tell(text);
    setTo(engine, "2026-05-01T04:05Z");
    hold.open("at last");
    await engine.settle();
    expect(await engine.transcript()).toEqual([
      ...["user: one", "assistant: answer to one", "user: two", "assistant: at last"],
      ...["--- reset", "user: three", "assistant: answer to three"],
    ]);
    expect(engine.shown()).toEqual(["answer to one", "at last", "answer to three"]);
    expect((await engine.runs()).map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok"]);
  });
});
