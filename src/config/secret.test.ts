import { format, inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { Secret, type SecretDeps, secretSchema } from "./secret.ts";

const VALUE = "sk-very-secret";
const world: SecretDeps = {
  env: { KEY: VALUE, EMPTY: "" },
  readFile: (path) => {
    if (path === "/keys/one") return `${VALUE}\n`;
    throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });
  },
};

const sources = [{ env: "KEY" }, { file: "/keys/one" }, { value: VALUE }] as const;

describe("Secret", () => {
  it.each(sources)("reveals %j only by an explicit call", (source) => {
    expect(new Secret(source).reveal(world)).toBe(VALUE);
  });

  it.each(sources)("prints %j as *** in every form", (source) => {
    const secret = new Secret(source);
    const forms = [
      String(secret),
      `${secret}`,
      "".concat(secret as unknown as string),
      JSON.stringify({ secret }),
      inspect(secret, { showHidden: true, depth: 10 }),
      inspect({ deep: { secret } }, { customInspect: false, showHidden: true, depth: 10 }),
      format("%s %o %O %j", secret, secret, secret, secret),
      JSON.stringify(Object.entries(secret)),
      JSON.stringify(structuredClone(secret)),
      new ConfigError(`about ${secret}`, { cause: secret }).message,
      secret.describe(),
    ];
    for (const form of forms) expect(form).not.toContain(VALUE);
    expect(forms.slice(0, 3)).toEqual(["***", "***", "***"]);
    expect(forms[3]).toBe('{"secret":"***"}');
    expect(forms[4]).toBe("***");
  });

  it.each([
    [{ env: "NOT_THERE" }, "the environment variable NOT_THERE is not set"],
    [{ env: "EMPTY" }, "the environment variable EMPTY is not set or is empty"],
    [{ file: "/keys/none" }, "the file /keys/none cannot be read"],
  ])("throws a typed error if %j is missing", (source, says) => {
    const reveal = (): string => new Secret(source).reveal(world);
    expect(reveal).toThrow(ConfigError);
    expect(reveal).toThrow(says);
  });
});

describe("secretSchema", () => {
  it.each([[{ env: "KEY" }], [{ file: "/keys/one" }], [VALUE]])("takes %j", (written) => {
    expect(secretSchema.parse(written).reveal(world)).toBe(VALUE);
  });

  it.each([
    [""],
    [42],
    [null],
    [[VALUE]],
    [{}],
    [{ env: "no spaces" }],
    [{ env: "KEY", file: "/keys/one" }],
    [{ value: VALUE }],
  ])("refuses %j without quoting it", (written) => {
    const result = secretSchema.safeParse(written);
    expect(result.success).toBe(false);
    expect(result.error?.message).toContain("expected a secret");
    expect(result.error?.message).not.toContain(VALUE);
  });
});
