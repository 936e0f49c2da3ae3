/** Work in progress on a channel: runs that people see before their answers, and runs that stay hidden. */
import { describe, expect, it, test } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { failure, inTurn, type Script, stall } from "../../../test/kit/model.ts";
import { TestTools } from "../../../test/kit/tools.ts";
import type { MessageBody } from "../../core/message/message.ts";
import { putPerson } from "./agent-system.test-kit.ts";

const endless = new Promise<never>(() => {});
const stallOnce: Script = () => endless;
const writing =
  (...parts: readonly string[]): Script =>
  (call) => {
    for (const delta of parts.slice(0, -1)) call.onEvent({ type: "text", delta });
    return stall(call, endless, parts.at(-1));
  };

/** An engine whose channel shows work in progress. */
async function showing(script: Script, more: TestEngineOptions = {}) {
  const test = channel("test");
  test.showsWork = true;
  const engine = await TestEngine.open({ channels: [test, channel("plain")], script, ...more });
  return { engine, work: test.work, test };
}

describe("a channel that shows work", () => {
  it("shows a person's run from its start to its end with the text so far", async () => {
    const { engine, work } = await showing((call) => {
      for (const delta of ["Hel", "lo"]) call.onEvent({ type: "text", delta });
      call.onEvent({ type: "thinking", delta: "hm" });
      return "Hello";
    });
    await engine.send({ kind: "user", text: "hi", replyToId: "7" }, { source: { connector: "test", messageId: "7" } });
    await engine.settle();
    const [run] = await engine.runs();
    const shown = { runId: run?.id, agentId: await engine.agentId(), lines: ["Hel", "Hello"], isOpen: false };
    expect(work).toMatchObject([shown]);
  });

  it("shows tools with their updates, and each message of the model from its beginning", async () => {
    const tools = new TestTools({
      read: {
        execute: (_input, { progress }) => {
          progress("half");
          return "read";
        },
      },
    });
    const script: Script = inTurn((call) => {
      call.onEvent({ type: "text", delta: "one" });
      return { say: "one", call: [{ name: "read" }] };
    }, writing("two"));
    const { engine, work } = await showing(script, { tools: tools.specs });
    await engine.tell("go");
    expect(work).toMatchObject([{ lines: ["one", "⚙️ read", "⚙️ half", "two"], isOpen: true }]);
  });

  it("shows a run before its first text", async () => {
    const { engine, work } = await showing(writing());
    await engine.tell("go");
    expect(work).toMatchObject([{ lines: [], isOpen: true }]);
  });

  it("shows a resumed run from its next tool or text", async () => {
    const { engine, work } = await showing(inTurn(stallOnce, { call: [{ name: "read" }] }, "done"), {
      tools: { read: {} },
    });
    await engine.tell("go");
    await engine.restart();
    expect(work.at(-1)).toMatchObject({ lines: ["⚙️ read"], isOpen: false });
  });

  it("stops showing a run that waits for a person", async () => {
    const { engine, work } = await showing(inTurn({ call: [{ name: "exec" }] }, "done"), {
      tools: { exec: { rights: ["exec"], replay: "never" } },
      system: { rights: {} },
    });
    await putPerson(engine, "ann", [{ ask: "exec" }]);
    await engine.tell("go", { sender: { connector: "test", userId: "ann" } });
    expect(work).toMatchObject([{ isOpen: false }]);
  });

  it("begins the text again when a call is repeated, in the same view", async () => {
    const script = inTurn((call) => {
      call.onEvent({ type: "text", delta: "one" });
      return failure("transient");
    }, writing("two"));
    const { engine, work } = await showing(script);
    await engine.tell("go");
    await engine.advance(10_000);
    expect(work.map(({ lines }) => lines)).toEqual([["one", "two"]]);
  });

  it("shows only the final part if that is enforced", async () => {
    const { engine, work } = await showing(writing("so <final>far"), { settings: { runs: { enforceFinalTag: true } } });
    await engine.tell("hi");
    expect(work[0]?.lines).toEqual(["far"]);
  });

  it("shows no more than 100,000 characters of a text", async () => {
    const { engine, work } = await showing(writing("x".repeat(100_000), "y", "z"));
    await engine.tell("hi");
    expect(work[0]?.lines.map(({ length }) => length)).toEqual([100_000, 100_001]);
  });

  const user: MessageBody = { kind: "user", text: "hi" };
  test.each<[string, MessageBody, object]>([
    ["nobody waits for", { kind: "trigger", text: "hi", trigger: { type: "webhook", id: "h" } }, {}],
    ["is answered nowhere", user, { delivery: undefined }],
    ["is answered on another channel", user, { delivery: { channel: "plain", to: "ann" } }],
    ["is answered without a channel", user, { delivery: { to: "ann" } }],
  ])("does not show a run that %s", async (_title, body, more) => {
    const { engine, work } = await showing(writing("so far"));
    await engine.send(body, more);
    await engine.settle();
    expect([engine.requests.length, work]).toEqual([1, []]);
  });
});

describe("connectorsChanged", () => {
  it("shows work on a channel that begins to show it, and closes what a channel no longer shows", async () => {
    const { engine, work, test } = await showing(writing("so far"));
    await engine.tell("one");
    test.showsWork = false;
    engine.system.reloaded();
    expect(work).toMatchObject([{ isOpen: false }]);
    await engine.tell("two", { name: "bob" });
    expect(work).toHaveLength(1);
    test.showsWork = true;
    engine.system.reloaded();
    await engine.tell("three", { name: "carl" });
    expect(work[1]).toMatchObject({ lines: ["so far"], isOpen: true });
  });

  it("closes everything when the node drains", async () => {
    const { engine, work } = await showing(writing("so far"));
    await engine.tell("hi");
    await engine.drain();
    expect(work).toMatchObject([{ lines: ["so far"], isOpen: false }]);
  });
});
