/** The queue that a person sets for their chat drops no message of a program (M18a). */
import { expect, it, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { type Reply, stall } from "../../../test/kit/model.ts";
import { queueOf } from "./agent-system.test-kit.ts";

it.each([
  { queueMode: "collect", queueCap: 1, queueDrop: "old" },
  { queueMode: "collect", queueCap: 1, queueDrop: "new" },
  { queueMode: "interrupt", queueCap: 1 },
  { queueMode: "steer", queueCap: 2, queueDrop: "summarize" },
])("answers each message of a program one by one under %j", async (patch) => {
  const hold = gate<Reply>();
  const engine = await TestEngine.open({ settings: { queue: queueOf({}) } });
  await engine.send({ kind: "setting", patch });
  await engine.settle();
  engine.script = (one) => stall(one, hold.promise);
  const program = (text: string) =>
    engine.say(text, { source: { connector: "api", channelId: "ann", messageId: text } });
  await program("one");
  await engine.settle();
  for (const text of ["two", "three", "four", "five"]) await program(text);
  await engine.settle();
  engine.script = ({ request }) => `answer to ${request.messages.length}`;
  hold.open("done");
  await engine.advance(60_000);
  expect((await engine.states()).slice(1)).toEqual(Array.from({ length: 5 }, () => "answered"));
  expect(engine.shown().slice(1)).toHaveLength(5);
});

test("a cap that comes with a message of a program drops no other one", async () => {
  const hold = gate<Reply>();
  const engine = await TestEngine.open({ settings: { queue: queueOf({}) } });
  engine.script = (one) => stall(one, hold.promise);
  const post = (text: string, queue?: object) =>
    engine.send({ kind: "user", text, queue }, { source: { connector: "api", channelId: "ann", messageId: text } });
  await post("one");
  await engine.settle();
  for (const text of ["two", "three", "four"]) await post(text, { cap: 1, dropPolicy: "old" });
  hold.open("done");
  await engine.advance(60_000);
  expect(await engine.states()).toEqual(Array.from({ length: 4 }, () => "answered"));
});
