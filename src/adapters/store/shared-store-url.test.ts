/** Which database a node uses, and which addresses are one. */
import { describe, expect, test } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { homePaths } from "../../config/paths.ts";
import { InvalidInputError, RookeryError } from "../../core/errors.ts";
import { isPostgresUrl, postgresUrl, sharedStoreUrl } from "./shared-store-url.ts";

const URL = "postgres://user:secret@host:5432/rookery";
const paths = homePaths("/home/me/.rookery");
const configOf = (text: string) => parseConfig({ text, file: "rookery.json5", env: {} }).config;

describe("the database of a node", () => {
  test("is the home's own if nothing names another", () => {
    expect(sharedStoreUrl(paths, configOf("{}"))).toBeUndefined();
  });

  test("is the one of the configuration, also if the environment holds it", () => {
    expect(sharedStoreUrl(paths, configOf(`{ store: { url: "${URL}" } }`))).toBe(URL);
    const named = configOf(`{ store: { url: { env: "STORE" } } }`);
    expect(sharedStoreUrl(paths, named, { STORE: URL })).toBe(URL);
    // Without an environment nothing is taken from the process's own.
    expect(() => sharedStoreUrl(paths, named)).toThrow("STORE");
    expect(() => sharedStoreUrl(paths, named)).toThrow(RookeryError);
  });

  test("is the one of the command line before the one of the configuration", () => {
    const given = { ...paths, sharedStore: "postgresql://other/db" };
    expect(sharedStoreUrl(given, configOf(`{ store: { url: "${URL}" } }`))).toBe("postgresql://other/db");
    expect(() => sharedStoreUrl({ ...paths, sharedStore: "mysql://x/y" }, configOf("{}"))).toThrow(InvalidInputError);
  });

  test.each([
    ["postgres://host/db", true],
    ["postgresql://user@host:5432/db?sslmode=require", true],
    ["postgres:/host/db", false],
    ["postgressql://host/db", false],
    ["xpostgres://host/db", false],
    ["/home/me/.rookery", false],
    ["", false],
  ])("%j is an address: %s", (text, is) => {
    expect(isPostgresUrl(text)).toBe(is);
    if (is) expect(postgresUrl(text)).toBe(text);
    else expect(() => postgresUrl(text)).toThrow(InvalidInputError);
  });

  test("with a broken address is refused without quoting it", () => {
    try {
      postgresUrl("postgres://user:secret@host:port/db");
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidInputError);
      expect(JSON.stringify(error) + String(error)).not.toContain("secret");
    }
  });
});
