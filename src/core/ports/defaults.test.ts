/** What holds where a model, a tool or a channel says nothing else. */
import { expect, test } from "vitest";
import { DEFAULT_REPLAY_HORIZON_MS } from "./connector.ts";
import { MODEL_TRIES } from "./model.ts";
import { DEFAULT_MAX_OUTPUT } from "./tool.ts";

test("a call of a model is tried three times, and five times if its provider asks to wait", () => {
  expect(MODEL_TRIES).toEqual({ transient: 3, rate: 5 });
});

test("a channel may send the same message again for thirty days", () => {
  expect(DEFAULT_REPLAY_HORIZON_MS).toBe(30 * 24 * 3600 * 1000);
});

test("a model sees four thousand characters of what a tool says", () => {
  expect(DEFAULT_MAX_OUTPUT).toBe(4_000);
});
