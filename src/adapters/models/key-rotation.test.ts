/** Which keys of a provider are usable, and for how long the others are not. */
import { expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { KeyRotation, type KeySource } from "./key-rotation.ts";

const source = (profile: string, value: string | undefined = profile): KeySource => ({
  ...{ profile, where: `at ${profile}`, reveal: () => value },
});

function rotation(...sources: readonly KeySource[]) {
  const clock = virtualClock();
  const keys = new KeyRotation(clock, () => sources);
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
  keys.worked(key);
  keys.limited(key);
  expect(keys.usable("m").waitMs).toBe(2_000);
});

test("a key that worked elsewhere meanwhile still waits until its limit is over", () => {
  const { clock, keys, key, values } = rotation(source("a"));
  keys.limited(key, 5_000);
  keys.worked(key);
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

test("a key that was refused for one model is used for others, and one that was refused is used for none", () => {
  const { keys, key, values } = rotation(source("a"));
  keys.refused(key, "m");
  expect([values("m"), values("n"), keys.usable("m").refused]).toEqual([[], ["a"], ["at a"]]);
  keys.refused(key);
  expect(values("n")).toEqual([]);
});

test("missing, refused and waiting keys are told apart, and a wait is named only if no key is usable", () => {
  const { keys, key, values } = rotation(source("a"), source("b"), source("gone", ""), source("d"));
  keys.limited(key, 9_000);
  keys.refused({ ...key, value: "b" });
  expect(keys.usable("m")).toMatchObject({ missing: ["at gone"], refused: ["at b"] });
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
