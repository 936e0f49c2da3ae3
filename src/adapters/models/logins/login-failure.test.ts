import { describe, expect, it } from "vitest";
import { endsLogin, loginFailure } from "./login-failure.ts";

describe("a failed refresh", () => {
  it.each([
    'request failed. status=400; body={"error":"invalid_grant"}',
    "token refresh unauthorized (status 401)",
    "HTTP 403: access denied for this client",
    '400 {"error":"access_denied"}',
    '{"error":"expired_token"}',
    "The session expired.",
  ])("ends the login: %s", (message) => {
    expect(endsLogin(new Error(message))).toBe(true);
  });

  it.each([
    "token refresh failed with status 503",
    "The operation timed out.",
    "token refresh aborted",
    "the request with invalid_grant was cancelled",
    "getaddrinfo ENOTFOUND auth.example: name lookup denied",
    "status 4031",
    "",
  ])("is tried again: %s", (message) => {
    expect(endsLogin(new Error(message))).toBe(false);
  });

  it("without an error that has a text is tried again", () => {
    expect([endsLogin("invalid_grant"), endsLogin(undefined)]).toEqual([false, false]);
  });
});

describe("a failed login", () => {
  it.each([
    ["400 access_denied", "denied", "400, access_denied"],
    ["403 access denied", "denied", "403"],
    ["expired_token", "expired", "expired_token"],
    ["timed out", "expired", ""],
    ["400 invalid_grant, 400", "refused", "400, invalid_grant"],
    ["aborted with 401", "cancelled", "401"],
    ["500 secret-token", "failed", "500"],
  ] as const)("%s is %s, with codes only", (message, kind, detail) => {
    expect(loginFailure(new Error(message))).toEqual({ kind, detail });
  });
});
