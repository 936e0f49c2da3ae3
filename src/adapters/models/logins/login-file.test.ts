/** Logins by provider and profile: only what the file has, and only whole ones. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkCredential, type Login, loginIn, readLogins, writeLogin } from "./login-file.ts";

const LOGIN: Login = {
  ...{ id: "one", seal: "c2VhbA==", loggedInAt: 1, renewals: 0, auth: {} },
  credential: { access: "a", refresh: "r", expires: 9 },
};

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-logins-"));
  file = join(home, "logins.json");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe("a login", () => {
  test.each([
    ["xai", "default", true],
    ["xai", "work", false],
    ["meta", "default", false],
    ["__proto__", "default", false],
    ["__proto__", "toString", false],
    ["constructor", "name", false],
    ["constructor", "prototype", false],
    ["xai", "constructor", false],
    ["xai", "__proto__", false],
  ])("of %s with the profile %s is there: %s", (provider, profile, isThere) => {
    expect(loginIn({ xai: { default: LOGIN } }, provider, profile)).toBe(isThere ? LOGIN : undefined);
  });

  test.each(["__proto__", "constructor"])("of a provider named %s changes no other", (name) => {
    writeLogin(file, "xai", "default", LOGIN);
    writeLogin(file, name, "default", LOGIN);
    writeLogin(file, "xai", name, LOGIN);
    expect(loginIn(readLogins(file), "xai", "default")).toEqual(LOGIN);
    expect(loginIn(readLogins(file), "xai", "other")).toBeUndefined();
    expect(loginIn(readLogins(file), "toString", "default")).toBeUndefined();
  });

  test("is removed alone, and its provider with the last one", () => {
    writeLogin(file, "xai", "default", LOGIN);
    writeLogin(file, "xai", "work", { ...LOGIN, id: "two" });
    writeLogin(file, "meta", "default", LOGIN);
    writeLogin(file, "xai", "default", undefined);
    expect(readLogins(file)).toEqual({ xai: { work: { ...LOGIN, id: "two" } }, meta: { default: LOGIN } });
    writeLogin(file, "xai", "work", undefined);
    expect(readLogins(file)).toEqual({ meta: { default: LOGIN } });
  });

  test.each([
    ["without an id", { ...LOGIN, id: "" }],
    ["without the key of its copies", { ...LOGIN, seal: "" }],
    ["without a token", { ...LOGIN, credential: { ...LOGIN.credential, access: "" } }],
    ["that never expires", { ...LOGIN, credential: { access: "a", refresh: "r" } }],
  ])("%s makes the file unusable, and it is not replaced", (_, login) => {
    const text = JSON.stringify({ version: 1, logins: { xai: { default: login } } });
    writeFileSync(file, text);
    expect(() => readLogins(file)).toThrow("cannot be read");
    expect(() => writeLogin(file, "meta", "default", LOGIN)).toThrow("cannot be read");
    expect(readFileSync(file, "utf8")).toBe(text);
  });
});

describe("tokens from a server", () => {
  test.each([
    ["whole ones", { access: "a", refresh: "r", expires: 1, more: true }, true],
    ["no refresh token", { access: "a", refresh: "", expires: 1 }, true],
    ["an empty token", { access: "", refresh: "r", expires: 1 }, false],
    ["no token", { refresh: "r", expires: 1 }, false],
    ["no end", { access: "a", refresh: "r", expires: Number.NaN }, false],
  ])("with %s are taken: %s", (_, credential, isTaken) => {
    if (isTaken) expect(checkCredential(credential)).toBe(credential);
    else expect(() => checkCredential(credential)).toThrow("incomplete tokens");
  });
});
