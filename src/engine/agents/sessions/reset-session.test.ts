/** A new session keeps the agent's settings and clears the rest. */

import { expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import type { SettingsPart } from "../../../../test/kit/settings.ts";
import type { PersonId } from "../../../core/people/person.ts";

/** An agent with a label, in whose session eve has spoken. */
async function open(settings?: SettingsPart): Promise<TestEngine> {
  const engine = await TestEngine.open({ settings });
  await engine.tell("hi");
  await engine.tell("and I", { behalf: { person: "eve" as PersonId } });
  await engine.system.sessions.patch(await engine.agentId(), { label: "mine" });
  await engine.settle();
  expect((await engine.agent()).state).toMatchObject({ label: "mine", speakers: ["eve"] });
  return engine;
}

test.each<[string, string | undefined, string, readonly string[] | undefined]>([
  ["another person who brings a text", "Be brief.", "bob", ["bob"]],
  ["no one for a text of its own person", "Be brief.", "test:ann", undefined],
  ["no one without a text", undefined, "bob", undefined],
])("lists as speaker %s", async (_title, text, person, speakers) => {
  const engine = await open();
  const before = await engine.agent();
  await engine.send({ kind: "reset", by: "person", text }, { behalf: { person: person as PersonId } });
  await engine.settle();
  const { state, sessionId } = await engine.agent();
  expect(sessionId).not.toBe(before.sessionId);
  expect([state.label, state.speakers]).toEqual(["mine", speakers]);
  expect(state.lastInteractionAt).toBeUndefined();
  expect((await engine.entries()).at(-1)).toMatchObject({ type: "reset", sessionId });
  expect((await engine.transcript()).at(-1)).toBe(text ? `--- reset ${text}` : "--- reset");
  expect(engine.shown().at(-1)).toBe("Session reset.");
});

it("replaces a stale session in the same way, without an answer", async () => {
  const engine = await open({ session: { reset: { mode: "idle", idleMinutes: 1 } } });
  const { sessionId: before } = await engine.agent();
  await engine.advance(61_000);
  await engine.tell("new", { behalf: { person: "test:ann" as PersonId } });
  const { state, sessionId } = await engine.agent();
  expect(sessionId).not.toBe(before);
  expect([state.label, state.speakers]).toEqual(["mine", undefined]);
  expect(engine.shown()).not.toContain("Session reset.");
});
