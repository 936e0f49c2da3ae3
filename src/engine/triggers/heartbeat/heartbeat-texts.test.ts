import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import { parseConfig } from "../../../config/parse-config.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import { isWithinActiveHours } from "./active-hours.ts";
import {
  HEARTBEAT_PROMPT,
  heartbeatProfiles,
  parseHeartbeatEvery,
  resolveHeartbeatSummary,
} from "./heartbeat-config.ts";
import { shapeReply } from "./heartbeat-reply.ts";
import { batchPrompt, isHeartbeatContentEffectivelyEmpty } from "./heartbeat-tasks.ts";
import { stripHeartbeatToken } from "./strip-heartbeat-token.ts";

const OK = "HEARTBEAT_OK";
const long = "x".repeat(301);

describe("stripHeartbeatToken", () => {
  // text, mode, limit → skip, text, stripped
  test.each([
    [undefined, "heartbeat", 300, true, "", false],
    ["", "heartbeat", 300, true, "", false],
    ["  \n ", "message", 300, true, "", false],
    [OK, "heartbeat", 300, true, "", true],
    [OK, "message", 300, true, "", true],
    [`  ${OK}  `, "message", 300, true, "", true],
    [`${OK} ${OK}`, "message", 300, true, "", true],
    [`**${OK}**`, "message", 300, true, "", true],
    [`<b>${OK}</b>`, "message", 300, true, "", true],
    [`<p>${OK}&nbsp;</p>`, "message", 300, true, "", true],
    [`\`${OK}\``, "message", 300, true, "", true],
    [`~~${OK}~~`, "message", 300, true, "", true],
    [`_${OK}_`, "message", 300, true, "", true],
    [`${OK} all is well`, "heartbeat", 300, true, "", true],
    [`all is well ${OK}`, "heartbeat", 300, true, "", true],
    [`${OK} all is well`, "message", 300, false, "all is well", true],
    [`all is well ${OK}`, "message", 300, false, "all is well", true],
    [`${OK} all is well`, "heartbeat", 0, false, "all is well", true],
    [`${OK} ${long}`, "heartbeat", 300, false, long, true],
    [`${OK} ${"x".repeat(300)}`, "heartbeat", 300, true, "", true],
    [`The disk is full.\n\nFree: 0\n${OK}`, "heartbeat", 5, false, "The disk is full.\n\nFree: 0", true],
    ["The disk is full.", "heartbeat", 300, false, "The disk is full.", false],
    [`${OK} **All** is <b>well</b>`, "message", 300, false, "**All** is <b>well</b>", true],
    [`${OK}${OK} ${OK}x${OK} ${OK}`, "message", 300, false, "x", true],
    [`**${OK}** all is *well*`, "message", 300, false, "** all is *well", true],
    [`<b>${OK}</b> all is *well*`, "message", 300, false, "all is *well", true],
    [`${OK} x`, "heartbeat", -1, false, "x", true],
    [`${OK} x`, "heartbeat", 1, true, "", true],
    [`I said ${OK} yesterday`, "heartbeat", 300, false, `I said ${OK} yesterday`, false],
    ["heartbeat_ok", "heartbeat", 300, false, "heartbeat_ok", false],
  ] as const)("%j in %s with %i", (raw, mode, maxAckChars, shouldSkip, text, didStrip) => {
    expect(stripHeartbeatToken(raw, { mode, maxAckChars })).toEqual({ shouldSkip, text, didStrip });
  });

  test("in a heartbeat 300 characters beside the token still say nothing", () => {
    const shouldSkip = (count: number) =>
      stripHeartbeatToken(`${OK} ${"x".repeat(count)}`, { mode: "heartbeat" }).shouldSkip;
    expect([shouldSkip(300), shouldSkip(301)]).toEqual([true, false]);
  });

  test("without options it removes the token and keeps the rest", () => {
    expect(stripHeartbeatToken(`${OK} hello`)).toEqual({ shouldSkip: false, text: "hello", didStrip: true });
  });

  test("takes linear time on texts of markup", () => {
    // Quadratic work on these texts would take minutes.
    for (const text of ["<".repeat(500_000), `a${" ".repeat(500_000)}b`, `a${"*".repeat(500_000)}b`]) {
      expect(stripHeartbeatToken(`${text} HEARTBEAT_OK`).didStrip).toBe(true);
    }
  });

  test("never throws, never leaves the token at an end, never adds text", () => {
    const piece = fc.oneof(fc.constant(OK), fc.string(), fc.constantFrom(" ", "\n", "**", "<b>", "&nbsp;"));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const raw = pieces.join("");
        const { text, shouldSkip, didStrip } = stripHeartbeatToken(raw);
        if (shouldSkip) expect(text).toBe("");
        if (didStrip) expect(text.startsWith(OK) || text.endsWith(OK)).toBe(false);
        if (!didStrip && !shouldSkip) expect(text).toBe(raw.trim());
      }),
      { numRuns: tries(300) },
    );
  });
});

describe("active hours", () => {
  const at = (time: string): number => Date.parse(`2026-06-15T${time}:00Z`);
  const zones = { host: "UTC", user: "America/New_York" };
  test.each([
    [undefined, "03:00", true],
    [{ start: "08:00", end: "22:00", timezone: "local" }, "07:59", false],
    [{ start: "08:00", end: "22:00", timezone: "local" }, "08:00", true],
    [{ start: "08:00", end: "22:00", timezone: "local" }, "21:59", true],
    [{ start: "08:00", end: "22:00", timezone: "local" }, "22:00", false],
    [{ start: "22:00", end: "06:00", timezone: "local" }, "23:30", true],
    [{ start: "22:00", end: "06:00", timezone: "local" }, "05:59", true],
    [{ start: "22:00", end: "06:00", timezone: "local" }, "06:00", false],
    [{ start: "22:00", end: "06:00", timezone: "local" }, "12:00", false],
    [{ start: "08:00", end: "24:00", timezone: "local" }, "23:59", true],
    [{ start: "08:00", end: "24:00", timezone: "local" }, "00:00", false],
    [{ start: "08:00", timezone: "local" }, "23:00", true],
    [{ end: "08:00", timezone: "local" }, "07:00", true],
    [{ end: "08:00", timezone: "local" }, "09:00", false],
    [{ start: "08:00", end: "08:00", timezone: "local" }, "03:00", true],
    [{ start: "nonsense", end: "08:00", timezone: "local" }, "09:00", true],
    [{ start: "08:00", end: "22:00" }, "13:00", true],
    [{ start: "08:00", end: "22:00" }, "11:00", false],
    [{ start: "08:00", end: "22:00", timezone: "user" }, "11:00", false],
    [{ start: "08:00", end: "22:00", timezone: "Asia/Tokyo" }, "23:30", true],
    [{ start: "08:00", end: "22:00", timezone: "Mars/Base" }, "11:00", false],
  ] as const)("%j at %s", (hours, time, active) => {
    expect(isWithinActiveHours(hours, at(time), zones)).toBe(active);
  });

  test.each([
    [`{ start: "25:00" }`, 'invalid time (use "HH:MM" 24h format)'],
    [`{ start: "8:00" }`, 'invalid time (use "HH:MM" 24h format)'],
    [`{ end: "24:30" }`, "invalid time (24:00 is the only allowed 24:xx value)"],
    [`{ start: "24:00" }`, "invalid time (start cannot be 24:00)"],
  ])("%s is refused in the configuration", (hours, message) => {
    const text = `{ heartbeat: { activeHours: ${hours} } }`;
    expect(() => parseConfig({ text, file: "rookery.json5", env: {} })).toThrow(message);
  });
});

describe("the reply of a heartbeat", () => {
  const now = 1_000_000_000_000;
  const heartbeat = { type: "heartbeat", id: "heartbeat:main" } as const;
  const said = (text: string, more = {}) => ({ payload: { text, ...more }, reasoning: "because" });
  const agent = (text?: string, ago = 0, failed = false) =>
    text === undefined ? undefined : { lastHeartbeatText: text, lastHeartbeatSentAt: now - ago, failed };
  const alert = "The disk is full.";
  test.each([
    ["is suppressed if it is only HEARTBEAT_OK", agent(), said(OK), {}, [], "nothing needs attention (HEARTBEAT_OK)"],
    [
      "is suppressed if it is HEARTBEAT_OK with a short text",
      agent(),
      said(`${OK} fine`),
      {},
      [],
      "nothing needs attention (HEARTBEAT_OK)",
    ],
    ["keeps a short text if ackMaxChars is 0", agent(), said(`${OK} fine`), { ackMaxChars: 0 }, ["fine"], undefined],
    ["is sent if it is an alert", agent(), said(alert), {}, [alert], undefined],
    ["is sent without HEARTBEAT_OK at its end", agent(), said(`${long}\n${OK}`), {}, [long], undefined],
    [
      "is suppressed if it repeats the last one within a day",
      agent(alert, 86_399_999),
      said(` ${alert} `),
      {},
      [],
      "duplicate of the last heartbeat",
    ],
    ["is sent if it repeats the last one after a day", agent(alert, 86_400_000), said(alert), {}, [alert], undefined],
    [
      "is sent if it repeats the last one and that one failed",
      agent(alert, 5, true),
      said(alert),
      {},
      [alert],
      undefined,
    ],
    [
      "is suppressed if it repeats the last one, which was split",
      agent("The disk\nis full.", 5),
      said(alert),
      {},
      [],
      "duplicate of the last heartbeat",
    ],
    ["is sent if it differs from the last one", agent("other", 5), said(alert), {}, [alert], undefined],
    [
      "is sent if it repeats the last one with a picture",
      agent(alert, 5),
      said(alert, { mediaUrl: "x" }),
      {},
      [alert],
      undefined,
    ],
    ["is sent if it is HEARTBEAT_OK with a picture", agent(), said(OK, { mediaUrl: "x" }), {}, [""], undefined],
    [
      "contains the reasoning if configured",
      agent(),
      said(alert),
      { includeReasoning: true },
      ["Reasoning:\nbecause", alert],
      undefined,
    ],
    ["is suppressed if it is empty", agent(), said(""), {}, [], "nothing needs attention (HEARTBEAT_OK)"],
  ] as const)("%s", (_, who, what, settings, texts, suppress) => {
    const reply = shapeReply(who, heartbeat, what, now, settings);
    expect(reply?.payloads.map(({ text }) => text)).toEqual(texts);
    expect(reply?.suppress).toBe(suppress);
    const state = reply?.stateFor?.({ id: "r.0" as DeliveryId });
    expect(state?.lastHeartbeatDeliveryId).toBe(suppress ? undefined : "r.0");
  });

  test("HEARTBEAT_OK of a cron job is not sent, an answer to a person keeps its text", () => {
    const cron = { type: "cron", id: "j", slot: "1@1" } as const;
    expect(shapeReply(agent(), cron, said(OK), now, {})?.suppress).toBeDefined();
    expect(shapeReply(agent(), cron, said("done"), now, {})).toBeUndefined();
    expect(shapeReply(agent(), undefined, said("hello"), now, {})).toBeUndefined();
    expect(shapeReply(agent(), undefined, said(`hello ${OK}`), now, {})?.payloads).toEqual([{ text: "hello" }]);
  });

  test("only the reply of a heartbeat is compared with the last one, and replaces it", () => {
    const webhook = { type: "webhook", id: "w" } as const;
    const cron = { type: "cron", id: "j", slot: "1@1" } as const;
    for (const [trigger, text] of [
      [undefined, alert],
      [webhook, alert],
      [cron, long],
    ] as const) {
      const settings = { includeReasoning: true };
      expect(shapeReply(agent(text, 5), trigger, said(`${text} ${OK}`), now, settings)).toEqual({
        payloads: [{ text }],
      });
    }
    // A caller of a webhook waits for words, also for few of them.
    expect(shapeReply(agent(), cron, said(`${alert} ${OK}`), now, {})?.suppress).toBeDefined();
  });

  test("keeps its other fields, and one with pictures or without text is no repetition", () => {
    const pictures = { mediaUrls: ["x"], replyToId: "5" };
    expect(shapeReply(agent(alert, 5), heartbeat, said(alert, pictures), now, {})?.payloads).toEqual([
      { text: alert, ...pictures },
    ]);
    expect(shapeReply(agent(alert, 5), heartbeat, said(alert, { mediaUrls: [] }), now, {})?.suppress).toBeDefined();
    const bare = { payload: { mediaUrl: "x" }, reasoning: "" };
    expect(shapeReply(agent(), heartbeat, bare, now, {})?.payloads).toEqual([{ mediaUrl: "x", text: "" }]);
    expect(shapeReply(agent(), undefined, bare, now, {})).toBeUndefined();
  });

  test("has no reasoning if that is blank, and no spaces around it", () => {
    const thought = (reasoning: string) =>
      shapeReply(agent(), heartbeat, { payload: { text: alert }, reasoning }, now, { includeReasoning: true });
    expect(thought(" \n")?.payloads).toEqual([{ text: alert }]);
    expect(thought(" so \n")?.payloads).toEqual([{ text: "Reasoning:\nso" }, { text: alert }]);
  });
});

test.each([
  ["", true],
  ["\n\n", true],
  ["# Heartbeat\n\n## Tasks", true],
  ["- [ ]\n- \n* [x]\n+ [X]", true],
  ["#", true],
  ["  # Tasks\n\t- [ ] \n  ", true],
  ["#TODO", false],
  ["- [ ] look", false],
  ["<!-- nothing -->", false],
  ["# Tasks\nlook at the mail", false],
])("whether the heartbeat file %j counts as empty: %s", (content, empty) => {
  expect(isHeartbeatContentEffectivelyEmpty(content)).toBe(empty);
});

test.each([
  ["30m", 1_800_000],
  ["45", 2_700_000],
  ["1.5h", 5_400_000],
  ["90s", 90_000],
  ["500ms", 500],
  ["2d", 172_800_000],
  ["0", null],
  ["0m", null],
  ["often", null],
  ["-5m", null],
])("the interval %s is %s ms", (every, ms) => {
  expect(parseHeartbeatEvery(every)).toBe(ms);
});

describe("the summary", () => {
  const config = (text: string) => parseConfig({ text, file: "rookery.json5", env: {} }).config;
  test("contains the defaults", () => {
    expect(resolveHeartbeatSummary(config("{}"), "main")).toEqual({
      enabled: true,
      every: "30m",
      everyMs: 1_800_000,
      prompt: HEARTBEAT_PROMPT,
      target: "last",
      ackMaxChars: 300,
    });
  });
  test("a profile's own keys override the common ones, and only such profiles have a heartbeat", () => {
    const both = config(
      `{ heartbeat: { every: "1h", target: "none" }, profiles: { work: { heartbeat: { every: "5m", model: "ollama/x" } } } }`,
    );
    expect(heartbeatProfiles(both)).toEqual(["work"]);
    expect(resolveHeartbeatSummary(both, "work")).toMatchObject({
      everyMs: 300_000,
      target: "none",
      model: "ollama/x",
    });
    expect(resolveHeartbeatSummary(both, "main")).toMatchObject({ enabled: false, everyMs: null, every: "disabled" });
    expect(resolveHeartbeatSummary(config(`{ heartbeat: { every: "0" } }`), "main").enabled).toBe(false);
  });
});

test("a single task is the prompt itself, several are grouped by title", () => {
  const task = (id: string, title: string) => ({ id, title, prompt: `look at ${id}` });
  expect(batchPrompt([task("a", "A")])).toBe("look at a");
  expect(batchPrompt([task("b", "Mail"), task("a", "Disk")])).toBe(
    "# Heartbeat run\n\nRun all 2 heartbeat tasks together. Keep results grouped by task.\n\n## 1. Disk\nid: a\n\nlook at a\n\n## 2. Mail\nid: b\n\nlook at b",
  );
});
