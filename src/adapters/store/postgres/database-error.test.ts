/** What an error of PostgreSQL means for the change that was sent. */
import { describe, expect, test } from "vitest";
import { StoreFullError, StoreUnavailableError } from "../../../core/errors.ts";
import { explain, failureOf, isBroken } from "./database-error.ts";

const error = (code: unknown): Error => Object.assign(new Error("it failed"), { code });

describe("an error of the database", () => {
  test.each<[code: unknown, failure: ReturnType<typeof failureOf>, broken: boolean, what: string]>([
    [undefined, "unknown", true, "no code: the socket closed"],
    ["ECONNRESET", "unknown", true, "the connection broke"],
    ["57P01", "unknown", true, "an administrator ended the connection"],
    ["08006", "unknown", true, "the connection failed"],
    ["RKAGN", "again", false, "a row it was computed from has changed"],
    ["40001", "retry", false, "serialisation"],
    ["40P01", "retry", false, "deadlock"],
    ["55P03", "retry", false, "a lock was not free"],
    ["57014", "retry", false, "the statement was cancelled"],
    ["53100", "failed", false, "the disk is full"],
    ["53300", "failed", false, "too many connections"],
    ["25006", "failed", false, "read-only"],
    ["58030", "failed", false, "input or output"],
    ["28P01", "failed", false, "a wrong password"],
    ["23505", "refused", false, "unique"],
    ["22P02", "refused", false, "a value it cannot read"],
    ["55000", "refused", false, "not in this state"],
    ["42P01", "refused", false, "no such table"],
    ["P0001", "refused", false, "raised by a function"],
  ])("%s: %s (broken: %s; %s)", (code, failure, broken) => {
    expect([failureOf(error(code)), isBroken(error(code))]).toEqual([failure, broken]);
  });

  test("that is no error object is a broken connection", () => {
    for (const thrown of [undefined, null, "text"])
      expect([failureOf(thrown), isBroken(thrown)]).toEqual(["unknown", true]);
  });

  test("is told a person as what it is: a full disk, or a database that does not answer", () => {
    const full = explain(error("53100"));
    expect(full).toBeInstanceOf(StoreFullError);
    expect(full.message).toContain("it failed");
    const cause = error("57P01");
    const gone = explain(cause);
    expect(gone).toBeInstanceOf(StoreUnavailableError);
    expect([gone.message, gone.cause]).toEqual(["The database cannot be used now: it failed.", cause]);
    expect(explain(Object.assign(new Error(""), { code: "ECONNREFUSED" })).message).toContain("ECONNREFUSED");
    expect(explain("a text").message).toContain("a text");
  });
});
