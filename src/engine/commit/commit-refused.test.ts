import { expect, test } from "vitest";
import { RookeryError } from "../../core/errors.ts";
import { afterRefusal, CommitRefused, isOutdated } from "./commit-refused.ts";

test.each([
  ["fenced", "yield", false],
  ["stopped", "stop", false],
  ["aborted", "stop", false],
  ["session", "reload", false],
  ["run", "reload", false],
  ["cycle", "reload", false],
  ["missing", "reload", true],
  ["conflict", "reload", true],
  ["rights", "reload", false],
  ["unknown", "reload", false],
] as const)("after the refusal %s the holder does: %s", (refused, next, outdated) => {
  const error = new CommitRefused(refused, "detail");
  expect(afterRefusal(error)).toBe(next);
  expect(isOutdated(error)).toBe(outdated);
  expect(error).toBeInstanceOf(RookeryError);
  expect(error).toMatchObject({ code: "commit_refused", name: "CommitRefused", retryable: next === "reload" });
});

test("an error that is not a refusal is rethrown", () => {
  expect(afterRefusal(new Error("x"))).toBe("rethrow");
  expect(isOutdated(undefined)).toBe(false);
});
