import { describe, expect, it } from "vitest";
import {
  ConflictError,
  DeniedError,
  InvalidInputError,
  InvariantError,
  NotFoundError,
  StoreClosedError,
  StoreFullError,
  StoreLostError,
  StoreUnavailableError,
  TimeoutError,
} from "../../../core/errors.ts";
import { errorBody, HttpError, statusOf } from "./http-error.ts";

describe("an error as an answer", () => {
  it.each([
    [new InvalidInputError("m"), 400, "invalid_request_error"],
    [new DeniedError("m"), 403, "permission_error"],
    [new NotFoundError("m"), 404, "not_found_error"],
    [new ConflictError("m"), 409, "invalid_request_error"],
    [new TimeoutError("m"), 504, "server_error"],
    [new StoreFullError("m"), 507, "server_error"],
    [new StoreLostError("m"), 503, "server_error"],
    [new StoreUnavailableError("m"), 503, "server_error"],
    [new StoreClosedError("m"), 503, "server_error"],
    [new HttpError(401, "unauthorized", "m"), 401, "authentication_error"],
    [new HttpError(429, "rate_limit_exceeded", "m"), 429, "rate_limit_error"],
    [new HttpError(418, "teapot", "m"), 418, "invalid_request_error"],
  ])("%s has its status and type", (error, status, type) => {
    expect(statusOf(error)).toBe(status);
    expect(errorBody(error).error).toMatchObject({ type, message: "m", code: error.code, param: null });
  });

  it.each([new TypeError("a path of the machine"), new InvariantError("a path of the machine"), "text", undefined])(
    "tells nothing about %s, which is a fault of the engine",
    (error) => {
      expect(statusOf(error)).toBe(500);
      expect(errorBody(error).error).toMatchObject({ type: "server_error", code: "internal", hint: undefined });
      expect(JSON.stringify(errorBody(error))).not.toContain("a path of the machine");
    },
  );

  it.each([
    [400, false],
    [408, true],
    [409, false],
    [429, true],
    [499, false],
    [500, true],
    [503, true],
  ])("with the status %i can be tried again: %s", (status, retryable) => {
    expect(new HttpError(status, "c", "m").retryable).toBe(retryable);
    expect(new HttpError(status, "c", "m", { retryable: !retryable }).retryable).toBe(!retryable);
    expect(errorBody(new HttpError(503, "c", "m")).error.retryable).toBe(true);
  });

  it("has its hint in the message too, and the field it is about", () => {
    const error = new HttpError(400, "c", "Wrong.", { hint: "Do this.", param: "user" });
    expect(errorBody(error).error).toMatchObject({ message: "Wrong. Do this.", hint: "Do this.", param: "user" });
  });
});
