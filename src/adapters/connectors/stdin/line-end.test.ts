import { expect, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { failure, stall } from "../../../../test/kit/model.ts";
import type { AgentId } from "../../../core/ids.ts";
import { messageId } from "../../../core/ids.ts";
import type { AcceptResult } from "../../../engine/inbox/accept.ts";
import { readLineEnd } from "./line-end.ts";

const endOf = async (engine: TestEngine, accepted: AcceptResult) => {
  if (accepted.status === "stale") throw new TypeError("not accepted");
  const { agentId, seq } = accepted as { agentId: AgentId; seq: number };
  return readLineEnd(engine.store, { agentId, messageId: messageId(agentId, seq) });
};

test("a line with an answer or with an error that was shown is answered", async () => {
  const engine = await TestEngine.open();
  expect(await endOf(engine, await engine.tell("hi"))).toEqual({ kind: "answered" });
  engine.script = () => failure("request");
  expect(await endOf(engine, await engine.tell("hi"))).toEqual({ kind: "answered" });
});

test("a line whose run was aborted by a reset has no answer", async () => {
  const engine = await TestEngine.open();
  engine.script = (call) => stall(call, new Promise(() => {}));
  const a = await engine.tell("A");
  const reset = await engine.send({ kind: "reset", by: "person" });
  await engine.settle();
  expect(await endOf(engine, a)).toMatchObject({
    kind: "unanswered",
    failed: true,
    reason: expect.stringMatching(/^aborted/u),
  });
  expect(await endOf(engine, reset)).toEqual({ kind: "answered" });
});

test("a line whose answer was suppressed has none, with the reason, and did not fail", async () => {
  const engine = await TestEngine.open();
  engine.script = () => "NO_REPLY";
  expect(await endOf(engine, await engine.tell("hi"))).toMatchObject({
    kind: "unanswered",
    failed: false,
    reason: expect.stringMatching(/^suppressed \(.+\)$/u),
  });
});

test("a line whose run has not ended has no answer yet", async () => {
  const engine = await TestEngine.open();
  engine.script = (call) => stall(call, new Promise(() => {}));
  expect(await endOf(engine, await engine.tell("hi"))).toMatchObject({
    kind: "unanswered",
    reason: "it is not finished; the next start continues it",
  });
});
