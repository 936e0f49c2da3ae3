import { expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { failure, inTurn } from "../../../test/kit/model.ts";
import type { RunEvent } from "../runtime/run-events.ts";

const refused = failure("request", { message: "messages: roles must alternate between user and assistant" });

it("a context refused for the order of its roles is sent once more with alternating roles, and history does not change", async () => {
  const engine = await TestEngine.open({ script: inTurn("first", refused, "second") });
  await engine.tell("one");
  await engine.send({ kind: "system", text: "psst", silent: true });
  await engine.settle();
  await engine.tell("two");
  expect(engine.shown()).toEqual(["first", "second"]);
  expect(engine.requests.map(({ messages }) => messages.map(({ role }) => role).join(" "))).toEqual([
    "user",
    "user assistant user user",
    "user assistant user",
  ]);
  expect(await engine.transcript()).toHaveLength(5);
});

it("a second refusal ends the run with the kind role_ordering, an error event and a message to the person", async () => {
  const engine = await TestEngine.open({ script: inTurn(refused, refused) });
  const events: RunEvent[] = [];
  engine.system.events.listen((event) => events.push(event));
  await engine.tell("one");
  expect(engine.shown()[0]).toContain("refused the order of the messages");
  expect(events.map(({ type }) => type)).toEqual(["start", "error", "end"]);
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  const end = events.at(-1);
  expect(end?.type === "end" && end.result.meta.error?.kind).toBe("role_ordering");
});
