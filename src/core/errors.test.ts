import { describe, expect, test } from "vitest";
import * as errors from "./errors.ts";
import { errorText, NotFoundError, RookeryError, unreachable } from "./errors.ts";

/** Whether the same call may succeed later without anything being changed by a person. */
const RETRYABLE = {
  InvalidInputError: false,
  TooLargeError: false,
  ConfigError: false,
  UsageError: false,
  NotFoundError: false,
  ConflictError: true,
  QueueFullError: true,
  DeniedError: false,
  HomeLockedError: true,
  HomeInUseError: true,
  StoreUnreadableError: false,
  ProviderUnavailableError: true,
  ChannelUnavailableError: true,
  ServerUnavailableError: true,
  StoreMissingError: false,
  StoreNewerError: false,
  MigrationError: false,
  StoreFullError: true,
  StoreLostError: true,
  StoreUnavailableError: true,
  StoreUnsuitableError: false,
  StoreClosedError: false,
  CommitUnknownError: true,
  CorruptDataError: false,
  TimeoutError: true,
  WaitCycleError: false,
  AbortedError: false,
  SuspendedError: true,
  InvariantError: false,
} as const;

const KINDS: Readonly<Record<string, unknown>> = { ...errors };
type Kind = new (message: string, options?: errors.ErrorOptions) => RookeryError;
const kindOf = (name: string): Kind => KINDS[name] as Kind;

describe("every error", () => {
  test("is in the table", () => {
    const classes = Object.entries(errors).filter(([name]) => name.endsWith("Error") && name !== "RookeryError");
    expect(classes.map(([name]) => name).toSorted()).toEqual(Object.keys(RETRYABLE).toSorted());
  });

  test.each(Object.entries(RETRYABLE))("%s may be tried again: %s", (name, retryable) => {
    const error = new (kindOf(name))("It failed..", { cause: 5, hint: "Do this.. Then that." });
    expect(error).toBeInstanceOf(RookeryError);
    expect(error.retryable).toBe(retryable);
    expect(error).toMatchObject({ name, message: "It failed.", hint: "Do this. Then that.", cause: 5 });
  });

  test("has its own code", () => {
    const codes = Object.keys(RETRYABLE).map((name) => new (kindOf(name))("x").code);
    expect(new Set(codes).size).toBe(codes.length);
  });
});

test("an error without a cause or a hint has none", () => {
  const error = new NotFoundError("There is none.");
  expect(error.hint).toBeUndefined();
  expect("cause" in error).toBe(false);
});

test("a person reads the message and then what to do", () => {
  expect(errorText(new NotFoundError("There is none.", { hint: "Make one." }))).toBe("There is none. Make one.");
  expect(errorText(new NotFoundError("There is none."))).toBe("There is none.");
  expect(errorText(new Error("plain"))).toBe("plain");
  expect(errorText("text")).toBe("text");
  expect(errorText(Object.assign(new Error("plain"), { hint: "no" }))).toBe("plain");
});

describe("the text of an error that says nothing by itself", () => {
  const refused = (port: number) => new Error(`connect ECONNREFUSED 127.0.0.1:${port}`);
  const cycle = new TypeError("fetch failed");
  cycle.cause = cycle;
  test.each<[string, unknown, string]>([
    [
      "is that of its parts",
      new AggregateError([refused(1), refused(2)], ""),
      `${refused(1).message}, ${refused(2).message}`,
    ],
    ["names each part once", new AggregateError([refused(1), refused(1)], ""), refused(1).message],
    ["names four parts at most", new AggregateError([1, 2, 3, 4, 5], ""), "1, 2, 3, 4"],
    ["is its code", Object.assign(new Error(""), { code: "ECONNRESET" }), "ECONNRESET"],
    ["is its code, if its parts have none", Object.assign(new AggregateError([], ""), { code: "EX" }), "EX"],
    ["is its name", new RangeError(""), "RangeError"],
    [
      "is that of its cause",
      new TypeError("fetch failed", { cause: refused(7) }),
      `fetch failed: ${refused(7).message}`,
    ],
    ["stays, if there is no cause", new TypeError("fetch failed"), "fetch failed"],
    ["ends, if it is its own cause", cycle, `${"fetch failed: ".repeat(3)}fetch failed`],
    ["is not that of the cause, if it says something", new Error("no", { cause: refused(7) }), "no"],
  ])("%s", (_, error, text) => expect(errorText(error)).toBe(text));
});

test("a case that cannot be is a bug with its value", () => {
  expect(() => unreachable("x" as never, "kind")).toThrow('Unexpected kind: "x"');
});
