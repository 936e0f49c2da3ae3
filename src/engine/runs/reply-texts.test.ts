import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { failure, type Reply } from "../../../test/kit/model.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import { finalText, replyTexts, saidBeforeCalls } from "./reply-texts.ts";

const text = (said: string) => ({ type: "text", text: said }) as const;
const BLOCKS = [text("one"), text("two")];

describe("what is sent of a message", () => {
  it.each([
    ["message_end", false, BLOCKS, ["onetwo"]],
    ["text_end", false, BLOCKS, ["one", "two"]],
    ["text_end", false, [text(" "), text("two")], ["two"]],
    ["text_end", false, [], [""]],
    ["message_end", true, [text("a <final>b</final> c")], ["b"]],
    ["message_end", true, [text("no tag")], [""]],
    ["text_end", true, [text("x"), text("<final>y</final>")], ["y"]],
  ] as const)("with %s and the final tag enforced: %s", (blockReplyBreak, enforceFinalTag, content, expected) => {
    expect(replyTexts(content, { blockReplyBreak, enforceFinalTag })).toEqual(expected);
  });

  it("contains nothing that stands outside of the tags", () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/u);
    fc.assert(
      fc.property(fc.array(fc.tuple(word, word), { maxLength: 20 }), (pairs) => {
        const whole = pairs.map(([out, inside]) => `OUT${out}<final>IN${inside}</final>`).join("");
        expect(finalText(whole)).toBe(pairs.map(([, inside]) => `IN${inside}`).join("\n\n"));
      }),
    );
  });

  it("of an unfinished text begins behind the open tag", () => {
    expect(finalText("thinking <final>half an ans")).toBe("half an ans");
    expect(finalText("thinking <fin")).toBe("");
    expect(finalText("<final>first</final><final>half")).toBe("first\n\nhalf");
    expect(finalText("<final> </final>x<final>y</final></final>z")).toBe("y");
  });
});

it.each([
  ["answers a person", {}, ["a"]],
  ["answers no one", { delivery: undefined }, []],
  ["is of a schedule", { trigger: { type: "cron", id: "j" } }, []],
  ["saves what matters before a compaction", { memoryFlush: true }, []],
])("before its calls a run that %s says: %j", (_title, body, said) => {
  const settings = testSettings({ runs: { blockReplyBreak: "text_end" } });
  const ports = { settings, connectors: new Map() };
  const run = {
    id: "r1",
    settings: settings.current,
    agentId: "a1",
    body: { delivery: { channel: "test", to: "1" }, deliveries: 3, ...body },
  };
  const agent = { profile: "main", state: {}, sessionKey: "agent:main:main" };
  const made = saidBeforeCalls(ports as never, agent as never, run as never, [text("a")], 7);
  expect(made.map(({ payload }) => payload.text)).toEqual(said);
  for (const one of made) expect(one).toMatchObject({ id: "r1.3", agentId: "a1", runId: "r1", createdAt: 7 });
});

async function shownWith(runs: object, script: (n: number) => Reply) {
  const outside = channel("test");
  const engine = await TestEngine.open({
    script: async ({ n }) => script(n),
    tools: { work: {} },
    channels: [outside],
    settings: { runs },
  });
  await engine.tell("go");
  const [run] = await engine.runs();
  return {
    shown: outside.shown(),
    deliveries: await engine.store.deliveries({ limit: 10, states: ["sent", "suppressed"] }),
    run,
    sent: outside.calls,
  };
}

describe("a run", () => {
  const blocks: Reply = { content: [text("first"), text("second")], stopReason: "stop" };
  const steps = (n: number): Reply => (n === 1 ? { say: "I look it up.", call: [{ name: "work" }] } : blocks);

  it("sends the whole last message by default", async () => {
    expect((await shownWith({}, steps)).shown).toEqual(["firstsecond"]);
  });

  it("sends each finished block with text_end, also those before a call, in order and as rows of their own", async () => {
    const { shown, deliveries } = await shownWith({ blockReplyBreak: "text_end" }, steps);
    expect(shown).toEqual(["I look it up.", "first", "second"]);
    expect(deliveries.map(({ state }) => state)).toEqual(["sent", "sent", "sent"]);
    expect(new Set(deliveries.map(({ id }) => id)).size).toBe(3);
  });

  it("numbers the blocks before calls one after the other over all turns, and only the first is a reply", async () => {
    const turn = (n: number): Reply => ({
      content: [text(`${n}a`), text(`${n}b`), { type: "toolCall", id: `c${n}`, name: "work", arguments: {} }],
      stopReason: "tool_calls",
    });
    const { shown, deliveries, run, sent } = await shownWith({ blockReplyBreak: "text_end" }, (n) =>
      n < 3 ? turn(n) : "done",
    );
    expect(shown).toEqual(["1a", "1b", "2a", "2b", "done"]);
    const ordinals = deliveries.map(({ id }) => Number(id.split(".")[1])).sort();
    expect(ordinals).toEqual([0, 1, 2, 3, 4]);
    expect(run?.body.deliveries).toBe(5);
    expect(sent.map(({ payload }) => [payload.text, payload.replyToId])).toEqual([
      ["1a", "m1"],
      ["1b", undefined],
      ["2a", undefined],
      ["2b", undefined],
      ["done", "m1"],
    ]);
  });

  it("of a schedule sends nothing before its calls", async () => {
    const engine = await TestEngine.open({
      script: async ({ n }) => steps(n),
      tools: { work: {} },
      settings: { runs: { blockReplyBreak: "text_end" } },
    });
    await engine.send({ kind: "trigger", text: "tick", trigger: { type: "cron", id: "j" } });
    await engine.settle();
    expect(engine.executions).toHaveLength(1);
    expect(engine.shown()).toEqual(["first", "second"]);
  });

  it("keeps its answer apart only if less is sent than the model said", async () => {
    const answer = async (runs: object, reply: Reply) => (await shownWith(runs, () => reply)).run?.body.answer;
    expect(await answer({}, "plain")).toBeUndefined();
    expect(await answer({ enforceFinalTag: true }, "no <final>one</final>")).toEqual({ text: "one" });
    const both: Reply = { content: [text("<final>a</final>"), text("<final>b</final>")], stopReason: "stop" };
    expect(await answer({ enforceFinalTag: true, blockReplyBreak: "text_end" }, both)).toEqual({ text: "a\n\nb" });
    expect(await answer({ enforceFinalTag: true }, failure("auth"))).toBeUndefined();
  });

  it("sends nothing of blocks before a call that are blank or say that nothing is to be sent", async () => {
    const call = { type: "toolCall", id: "c1", name: "work", arguments: {} } as const;
    const quiet: Reply = { content: [text(" "), text("NO_REPLY"), text("I look."), call], stopReason: "tool_calls" };
    const { shown, deliveries } = await shownWith({ blockReplyBreak: "text_end" }, (n) => (n === 1 ? quiet : "done"));
    expect(shown).toEqual(["I look.", "done"]);
    expect(deliveries.map(({ state }) => state)).toEqual(["sent", "sent"]);
  });

  it("sends and answers only what stands in the final tag, and lists an answer without one as suppressed", async () => {
    const final = await shownWith({ enforceFinalTag: true }, () => "hmm <final>the answer</final>");
    expect(final.shown).toEqual(["the answer"]);
    expect(final.run?.body.answer).toEqual({ text: "the answer" });
    const none = await shownWith({ enforceFinalTag: true }, () => "only thoughts");
    expect(none.shown).toEqual([]);
    expect(none.deliveries.map(({ state, reason }) => [state, reason])).toEqual([["suppressed", "empty answer"]]);
  });

  it("shows what stands before a call while its tool still works", async () => {
    const hold = gate<string>();
    const outside = channel("test");
    const engine = await TestEngine.open({
      script: async ({ n }) => (n === 1 ? { say: "I look it up.", call: [{ name: "work" }] } : "done"),
      tools: { work: { execute: () => hold.promise } },
      channels: [outside],
      settings: { runs: { blockReplyBreak: "text_end" } },
    });
    await engine.tell("go");
    expect(outside.shown()).toEqual(["I look it up."]);
    hold.open("worked");
    await engine.settle();
    expect(outside.shown()).toEqual(["I look it up.", "done"]);
  });
});
