import { expect, it } from "vitest";
import { failure, inTurn, Nest } from "../agents/engine.test-kit.ts";
import type { RunEvent } from "../runtime/run-events.ts";

const refused = failure("request", { message: "messages: roles must alternate between user and assistant" });

it("a context that is refused for the order of its roles is sent once more with turns taken, and history is not changed", async () => {
  const nest = await Nest.open({ script: inTurn("first", refused, "second") });
  await nest.tell("one");
  await nest.send({ kind: "system", text: "psst", silent: true });
  await nest.settle();
  await nest.tell("two");
  expect(nest.shown()).toEqual(["first", "second"]);
  expect(nest.requests.map(({ messages }) => messages.map(({ role }) => role).join(" "))).toEqual([
    "user",
    "user assistant user user",
    "user assistant user",
  ]);
  expect(await nest.transcript()).toHaveLength(5);
});

it("one that is refused again ends the run with that kind, an error event and a word to the person", async () => {
  const nest = await Nest.open({ script: inTurn(refused, refused) });
  const events: RunEvent[] = [];
  nest.system.events.listen((event) => events.push(event));
  await nest.tell("one");
  expect(nest.shown()[0]).toContain("refused the order of the messages");
  expect(events.map(({ type }) => type)).toEqual(["start", "error", "end"]);
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  const end = events.at(-1);
  expect(end?.type === "end" && end.result.meta.error?.kind).toBe("role_ordering");
});
