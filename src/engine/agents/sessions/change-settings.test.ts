/** What a change of an agent's settings writes, says and moves, in one commit. */
import { describe, expect, it, test } from "vitest";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import { messageTo, NOW, recordedLease } from "../actor/lease.test-kit.ts";
import { changeSettings } from "./change-settings.ts";

type Setting = Extract<MessageBody, { kind: "setting" }>;

async function change(body: Omit<Setting, "kind">, state: object = {}, more: Partial<Message> = {}) {
  const recorded = recordedLease({ record: { state: { updatedAt: 1, ...state } } });
  await changeSettings(recorded.ports, recorded.lease, messageTo({ kind: "setting", ...body }, more));
  const [commit] = recorded.commits;
  return { ...recorded, commit, moved: commit?.ops.some(({ op }) => op === "rights.move") };
}
const ALL = { queueMode: "steer", queueDebounceMs: 5, queueCap: 7, queueDrop: "new" } as const;

describe("settings of the queue", () => {
  test.each<[string, Setting["queue"], object, string]>([
    [
      "all of them",
      { mode: "steer", debounceMs: 5, cap: 7, dropPolicy: "new" },
      { ...ALL, label: "mine" },
      "⚙️ Queue: mode steer, debounceMs 5, cap 7, dropPolicy new.",
    ],
    ["one, the others stay", { cap: 9 }, { ...ALL, queueCap: 9, label: "mine" }, "⚙️ Queue: cap 9."],
    ["none", {}, { ...ALL, label: "mine" }, "⚙️ Queue: unchanged."],
    ["back to the default", null, { label: "mine" }, "⚙️ Queue: back to the default."],
  ])("are written and said: %s", async (_title, queue, state, text) => {
    const { commit, shown, moved } = await change({ queue }, { ...ALL, label: "mine" });
    expect(commit?.state).toEqual({ ...state, updatedAt: NOW });
    expect(shown).toEqual([text]);
    expect(moved).toBe(false);
  });

  it("come with other settings, each with a line of its own", async () => {
    const { commit, shown } = await change({ queue: { mode: "queue" }, patch: { label: "mine", verboseLevel: null } });
    expect(commit?.state).toMatchObject({ queueMode: "queue", label: "mine" });
    expect(shown).toEqual(['⚙️ Queue: mode queue.\n⚙️ label set to "mine".\n⚙️ verboseLevel cleared.']);
  });
});

test.each<[string, Setting["patch"], string]>([
  ["nothing", undefined, "⚙️ Nothing to change."],
  ["no field", {}, "⚙️ Nothing to change."],
  ["a number", { queueCap: 3 }, "⚙️ queueCap set to 3."],
  ["a policy that allows", { sendPolicy: "allow" }, "⚙️ Send policy set to on."],
  ["a policy that denies", { sendPolicy: "deny" }, "⚙️ Send policy set to off."],
  ["no policy", { sendPolicy: null }, "⚙️ Send policy set to inherit."],
])("says what changed: %s", async (_title, patch, text) => {
  const { commit, shown, settled } = await change({ patch });
  expect([commit?.site, shown]).toEqual(["setting", [text]]);
  expect(settled()).toEqual([{ seq: 4, from: "waiting", state: "recorded", reason: "settings changed" }]);
});

describe("rules", () => {
  const [ONE, TWO] = [{ deny: "exec(one)" }, { allow: "exec(two)" }];
  test.each<[string, Setting["rules"], readonly object[] | undefined, readonly object[] | undefined]>([
    ["the first is added", { add: ONE }, undefined, [ONE]],
    ["another is added", { add: TWO }, [ONE], [ONE, TWO]],
    ["one is removed", { remove: "exec(one)" }, [ONE, TWO], [TWO]],
    ["the last is removed", { remove: "exec(one)" }, [ONE], undefined],
    ["one is replaced", { add: TWO, remove: "exec(one)" }, [ONE], [TWO]],
  ])("%s, and the revision of rights moves", async (_title, rules, before, after) => {
    const { commit, moved } = await change({ rules, patch: { label: "mine" } }, { rules: before });
    expect([commit?.state?.rules, commit?.state?.label, moved]).toEqual([after, "mine", true]);
  });

  test.each<[Setting["patch"], boolean]>([
    [{ execHost: "sandbox" }, true],
    [{ rules: null }, true],
    [{ label: "x", elevatedLevel: null }, true],
    [{ label: "x" }, false],
  ])("the revision moves with the owner's fields: %j", async (patch, expected) => {
    expect((await change({ patch })).moved).toBe(expected);
  });
});

describe("a change that is not made", () => {
  it("because it is refused says why, and nothing else of it is done", async () => {
    const { commit, shown, settled } = await change({ refused: "Only ann may.", patch: { execHost: "node" } });
    expect(commit).toMatchObject({ site: "setting.refused" });
    expect(commit?.state).toBeUndefined();
    expect([shown, settled()]).toMatchObject([["Only ann may."], [{ reason: "Only ann may." }]]);
  });

  it("because it is wrong says what is wrong, to a sender without an address in its trace", async () => {
    const wrong = await change({ patch: { queueCap: 0, execHost: "node" } as never });
    expect(wrong.commit).toMatchObject({ site: "setting.wrong" });
    expect([wrong.commits.length, wrong.commit?.state, wrong.moved]).toEqual([1, undefined, false]);
    expect(wrong.shown[0]).toMatch(/^⚙️ queueCap: expected/);
    expect(wrong.settled()[0]?.reason).toMatch(/^queueCap: expected/);
    const unread = await change({ patch: { queueCap: 0 } }, {}, { delivery: undefined });
    expect([unread.shown, unread.settled()[0]?.reason]).toEqual([[], wrong.shown[0]]);
  });

  it("because the commit fails is an error, not an answer", async () => {
    let tries = 0;
    const commit = async () => (tries++ === 0 ? Promise.reject(new TypeError("lost")) : { results: [] });
    const { ports, lease, shown } = recordedLease({ lease: { commit } });
    await expect(changeSettings(ports, lease, messageTo({ kind: "setting", patch: {} }))).rejects.toThrow("lost");
    expect(shown).toEqual([]);
  });

  it("because the message is another one", async () => {
    const { ports, lease, commits } = recordedLease();
    await changeSettings(ports, lease, messageTo({ kind: "user", text: "hi" }));
    expect(commits).toEqual([]);
  });
});
