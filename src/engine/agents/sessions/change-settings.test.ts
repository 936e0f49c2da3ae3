/** Changes of settings: the state they write, their answers, and the revision of rights. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import type { StatePatch } from "../../../core/agent/patch-state.ts";
import type { MessageBody } from "../../../core/message/message.ts";

type Setting = Extract<MessageBody, { kind: "setting" }>;

/** Changes the settings of an agent that has others already. */
async function change(body: Omit<Setting, "kind">, before: StatePatch = {}) {
  const engine = await TestEngine.open();
  await engine.tell("hi");
  if (Object.keys(before).length > 0) await engine.system.sessions.patch(await engine.agentId(), before);
  await engine.settle();
  const revision = await engine.store.rightsRevision();
  await engine.send({ kind: "setting", ...body });
  await engine.settle();
  const { state } = await engine.agent();
  const [message] = await engine.store.messages(await engine.agentId(), { limit: 1 });
  const moved = (await engine.store.rightsRevision()) !== revision;
  return { engine, state, message, moved, answers: engine.shown().slice(1) };
}
const ALL = { queueMode: "steer", queueDebounceMs: 5, queueCap: 7, queueDrop: "new", label: "mine" } as const;

describe("queue settings", () => {
  test.each<[string, Setting["queue"], object, string]>([
    [
      "set all of them",
      { mode: "queue", debounceMs: 9, cap: 9, dropPolicy: "old" },
      { queueMode: "queue", queueDebounceMs: 9, queueCap: 9, queueDrop: "old", label: "mine" },
      "⚙️ Queue: mode queue, debounceMs 9, cap 9, dropPolicy old.",
    ],
    ["set one and keep the others", { cap: 9 }, { ...ALL, queueCap: 9 }, "⚙️ Queue: cap 9."],
    ["change nothing", {}, ALL, "⚙️ Queue: unchanged."],
  ])("%s", async (_title, queue, expected, text) => {
    const { state, answers, moved } = await change({ queue }, ALL);
    expect(state).toMatchObject(expected);
    expect([answers, moved]).toEqual([[text], false]);
  });

  it("return to the defaults", async () => {
    const { state, answers } = await change({ queue: null }, ALL);
    for (const field of ["queueMode", "queueDebounceMs", "queueCap", "queueDrop"]) {
      expect(state).not.toHaveProperty(field);
    }
    expect([state.label, answers]).toEqual(["mine", ["⚙️ Queue: back to the default."]]);
  });
});

test.each<[string, Omit<Setting, "kind">, string]>([
  ["nothing", {}, "⚙️ Nothing to change."],
  ["a number", { patch: { queueCap: 3 } }, "⚙️ queueCap set to 3."],
  ["a policy that allows", { patch: { sendPolicy: "allow" } }, "⚙️ Send policy set to on."],
  ["a policy that denies", { patch: { sendPolicy: "deny" } }, "⚙️ Send policy set to off."],
  ["no policy", { patch: { sendPolicy: null } }, "⚙️ Send policy set to inherit."],
  [
    "several, each on its own line",
    { queue: { mode: "queue" }, patch: { label: "mine", verboseLevel: null } },
    '⚙️ Queue: mode queue.\n⚙️ label set to "mine".\n⚙️ verboseLevel cleared.',
  ],
])("answers what changed: %s", async (_title, body, text) => {
  const { message, engine } = await change(body);
  expect(message).toMatchObject({ state: "recorded", reason: "settings changed" });
  expect((await engine.deliveries()).map(({ payload }) => payload.text)).toContain(text);
});

describe("rules", () => {
  const [ONE, TWO] = [{ deny: "exec(one)" }, { allow: "exec(two)" }];
  test.each<[string, Setting["rules"], StatePatch["rules"], readonly object[] | undefined]>([
    ["adds the first", { add: ONE }, undefined, [ONE]],
    ["adds another", { add: TWO }, [ONE], [ONE, TWO]],
    ["removes one", { remove: "exec(one)" }, [ONE, TWO], [TWO]],
    ["removes the last", { remove: "exec(one)" }, [ONE], undefined],
    ["replaces one", { add: TWO, remove: "exec(one)" }, [ONE], [TWO]],
  ])("%s and moves the revision of rights", async (_title, rules, before, after) => {
    const { state, moved } = await change({ rules, patch: { label: "mine" } }, before ? { rules: before } : {});
    expect([state.rules, state.label, moved]).toEqual([after, "mine", true]);
  });

  test.each<[Setting["patch"], boolean]>([
    [{ execHost: "sandbox" }, true],
    [{ rules: null }, true],
    [{ label: "x", elevatedLevel: null }, true],
    [{ label: "x" }, false],
  ])("move the revision only with the owner's fields: %j", async (patch, expected) => {
    expect((await change({ patch })).moved).toBe(expected);
  });
});

it("answers a refused change with the reason, and changes nothing", async () => {
  const { state, answers, message, moved } = await change({ refused: "Only ann may.", patch: { execHost: "node" } });
  expect([answers, message?.reason, moved]).toEqual([["Only ann may."], "Only ann may.", false]);
  expect(state).not.toHaveProperty("execHost");
});

it("answers a wrong value with what is wrong, and writes none of the others", async () => {
  const { state, answers, message, moved } = await change({ patch: { queueCap: 0, execHost: "node" } });
  expect(answers[0]).toMatch(/^⚙️ queueCap: expected/);
  expect([message?.reason, moved]).toEqual([answers[0]?.slice("⚙️ ".length), false]);
  expect(state).not.toHaveProperty("execHost");
});
