import { describe, expect, it } from "vitest";
import { argumentKind } from "./argument-kinds.ts";
import { cliHome, TERMINAL } from "./cli.test-kit.ts";

const home = cliHome();

describe("a short id", () => {
  it("is made whole if it is the beginning of one id only", async () => {
    const seed = await home.make(
      { type: "user", connector: "telegram", userId: "42", channelId: "42" },
      { id: `abcd${"e".repeat(20)}` as never },
    );
    expect(JSON.parse((await home.run("agents", "show", "abcd", "--json")).out).id).toBe(seed.id);
    expect((await home.run("agents", "show", "abc")).code).toBe(1);
    await home.make(
      { type: "user", connector: "telegram", userId: "43", channelId: "43" },
      { id: `abcd${"f".repeat(20)}` as never },
    );
    const { code, err } = await home.run("agents", "show", "abcd");
    expect(code).toBe(2);
    expect(err).toContain('"abcd" is the beginning of several ids: abcdeeee');
    expect(JSON.parse((await home.run("agents", "show", "abcde", "--json")).out).id).toBe(seed.id);
  });

  it("does not hide a name", async () => {
    const main = await home.make(TERMINAL);
    await home.make(
      { type: "user", connector: "telegram", userId: "42", channelId: "42" },
      { id: `main${"e".repeat(20)}` as never },
    );
    expect(JSON.parse((await home.run("agents", "show", "main", "--json")).out).id).toBe(main.id);
  });

  it.each([
    ["<agent id, key or name> <text>", 0, "agent"],
    ["<agent id, key or name> <text>", 1, undefined],
    ["[run]", 0, "run"],
    ["<job id>", 0, "job"],
    [undefined, 0, undefined],
  ])("is looked for by the usage %s: argument %i is a %s", (usage, index, kind) => {
    expect(argumentKind(usage, index)).toBe(kind);
  });
});
