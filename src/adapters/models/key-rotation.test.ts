/** Which keys of a provider are usable, and for how long the others are not. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { KeyRotation, type KeySource } from "./key-rotation.ts";

const source = (profile: string, value: string | undefined = profile): KeySource => ({
  ...{ profile, where: `at ${profile}`, reveal: () => value },
});

function rotation(...sources: readonly KeySource[]) {
  const clock = virtualClock();
  const keys = new KeyRotation("house", clock, () => sources);
  const [key = expect.unreachable()] = keys.usable("m").keys;
  return { clock, keys, key, values: (model = "m") => keys.usable(model).keys.map(({ value }) => value) };
}

test("a key waits longer after each limit, up to five minutes, and from the start again after it has worked", () => {
  const { clock, keys, key } = rotation(source("a"));
  const waits = Array.from({ length: 10 }, () => {
    keys.limited(key);
    const { waitMs = 0 } = keys.usable("m");
    clock.advanceSync(waitMs);
    return waitMs / 1_000;
  });
  expect(waits).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  keys.worked(key, "m");
  keys.limited(key);
  expect(keys.usable("m").waitMs).toBe(2_000);
});

test("a key that worked elsewhere meanwhile still waits until its limit is over", () => {
  const { clock, keys, key, values } = rotation(source("a"));
  keys.limited(key, 5_000);
  keys.worked(key, "m");
  expect([values(), keys.usable("m").waitMs]).toEqual([[], 5_000]);
  clock.advanceSync(4_999);
  expect(values()).toEqual([]);
  clock.advanceSync(1);
  expect(values()).toEqual(["a"]);
});

test("the same key in two places is used once, and its limit counts in both", () => {
  const { keys, key, values } = rotation(source("a", "same"), source("b", "same"), source("c"));
  expect(values()).toEqual(["same", "c"]);
  keys.limited(key, 5_000);
  expect(values()).toEqual(["c"]);
});

test("usable() keeps a key for other models after a refusal for one model, and for none after any other refusal", () => {
  const { keys, key, values } = rotation(source("a"));
  keys.refused(key, { model: "m", status: 403, onlyModel: true });
  expect([values("m"), values("n")]).toEqual([[], ["a"]]);
  expect(keys.usable("m").refused).toMatchObject([{ where: "at a", status: 403, model: "house/m", onlyModel: true }]);
  keys.refused(key, { model: "m", status: 401 });
  expect(values("n")).toEqual([]);
});

describe("a refused key", () => {
  const MINUTE = 60_000;

  test("rests for a minute, twice as long after each refusal in a row, and for an hour at most", () => {
    const { clock, keys, key, values } = rotation(source("a"));
    const minutes = Array.from({ length: 9 }, () => {
      keys.refused(key, { model: "m", status: 401 });
      const [refused = expect.unreachable()] = keys.usable("m").refused;
      const pause = (refused.tryAgainAt ?? 0) - clock.now();
      clock.advanceSync(pause - 1);
      expect(values()).toEqual([]);
      clock.advanceSync(1);
      expect(values()).toEqual(["a"]);
      return pause / MINUTE;
    });
    expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  test("rests for a minute again after it has worked, and is listed until then", () => {
    const { clock, keys, key } = rotation(source("a"));
    for (let n = 0; n < 3; n++) {
      keys.refused(key, { model: "m", status: 401 });
      clock.advanceSync(4 * MINUTE);
    }
    expect(keys.refusals()).toMatchObject([{ status: 401, tryAgainAt: null }]);
    keys.worked(key, "m");
    expect(keys.refusals()).toEqual([]);
    keys.refused(key, { model: "m" });
    expect(keys.refusals()).toMatchObject([{ status: null, tryAgainAt: clock.now() + MINUTE }]);
  });

  test("rests once for calls that were under way together", () => {
    const { clock, keys, key } = rotation(source("a"));
    for (let n = 0; n < 5; n++) keys.refused(key, { model: "m", status: 401 });
    expect(keys.refusals()).toMatchObject([{ tryAgainAt: clock.now() + MINUTE }]);
  });

  test("is usable after endPauses(), and rests longer if it is refused again", () => {
    const { clock, keys, key, values } = rotation(source("a"));
    keys.refused(key, { model: "m", status: 401 });
    keys.endPauses();
    expect(values()).toEqual(["a"]);
    keys.refused(key, { model: "m", status: 401 });
    expect(keys.refusals()).toMatchObject([{ tryAgainAt: clock.now() + 2 * MINUTE }]);
  });

  test("stays refused for another model after it has worked for one", () => {
    const { keys, key } = rotation(source("a"));
    keys.refused(key, { model: "big", status: 403, onlyModel: true });
    keys.worked(key, "m");
    expect(keys.refusals()).toMatchObject([{ model: "house/big" }]);
  });

  test("is forgotten when its value changes", () => {
    let value = "old";
    const { keys, key, values } = rotation({ profile: "a", where: "at a", reveal: () => value });
    keys.refused(key, { model: "m", status: 401 });
    value = "new";
    expect([values(), keys.refusals()]).toEqual([["new"], []]);
  });

  test.each([
    ["default", undefined, "rookery models keys add house"],
    ["work", undefined, "rookery models keys add house --profile work"],
    ["default", {}, "rookery models login house"],
  ])("of the profile %s with the login %j is replaced with `%s`", (profile, login, replaceWith) => {
    const { keys, key } = rotation({ profile, where: "at a", reveal: () => "k", login });
    keys.refused(key, { model: "m", status: 401 });
    expect(keys.refusals()).toMatchObject([{ replaceWith }]);
  });
});

test("usable() tells missing, refused, foreign and waiting keys apart, and names a wait only if no key is usable", () => {
  const { keys, key, values } = rotation(
    source("a"),
    source("b"),
    source("gone", ""),
    source("d"),
    source("e", "sk-ant-oat-1"),
  );
  keys.limited(key, 9_000);
  keys.refused({ ...key, value: "b" }, { model: "m", status: 401 });
  expect(keys.usable("m")).toMatchObject({
    ...{ missing: ["at gone"], foreign: ["at e"], refused: [{ where: "at b" }] },
  });
  expect(keys.usable("m").waitMs).toBeUndefined();
  keys.limited({ ...key, value: "d" }, 3_000);
  expect([values(), keys.usable("m").waitMs]).toEqual([[], 3_000]);
});

test.each([
  [undefined, ["a", "b", "c"]],
  [{ name: "b", only: false }, ["b", "a", "c"]],
  [{ name: "b", only: true }, ["b"]],
  [{ name: "none", only: true }, ["a", "b", "c"]],
])("the preferred profile %j gives %j", (preferred, expected) => {
  const { keys } = rotation(source("a"), source("b"), source("c"));
  expect(keys.usable("m", preferred).keys.map(({ value }) => value)).toEqual(expected);
  expect([keys.has("b"), keys.has("none")]).toEqual([true, false]);
});
