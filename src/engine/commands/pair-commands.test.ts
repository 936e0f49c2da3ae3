import { describe, expect, test } from "vitest";
import { ConflictError, NotFoundError } from "../../core/errors.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import { commandNamed } from "./chat-commands.ts";
import { contextOf, run, said } from "./command-context.test-kit.ts";

describe("/pair and /link", () => {
  const calls: unknown[] = [];
  const pairing = (more: object = {}) =>
    ({
      list: async () => [
        { code: "k7", account: "telegram:7", name: "Ann" },
        { code: "k8", account: "telegram:8" },
      ],
      approve: async (...args: unknown[]) => {
        calls.push(args);
        return { person: args[2] ?? "telegram-7", account: "telegram:7" };
      },
      deny: async () => ({ account: "telegram:7" }),
      block: async (code: string) => code,
      forget: async (code: string) => code,
      linkCode: async (person: string) => `code-of-${person}`,
      ...more,
    }) as never;
  test.each([
    ["", "k7  telegram:7  Ann\nk8  telegram:8"],
    ["k7", "telegram:7 is let in as telegram-7."],
    ["k7 as ann", "telegram:7 is let in as ann."],
    ["k7 AS ann", "telegram:7 is let in as ann."],
    ["k7 for ann", "Usage: /pair [CODE [as ID]] | no CODE | block CODE|ACCOUNT | forget CODE|ACCOUNT"],
    ["no k7", "telegram:7 was not let in."],
    ["Block k7", "k7 is blocked."],
    ["forget k7", "k7 is forgotten."],
  ])("/pair %s", async (text, answer) => {
    expect(await said("pair", text, { pairing: pairing(), person: OWNER })).toBe(answer);
  });
  test("say who did it, and what is missing", async () => {
    calls.length = 0;
    await said("pair", "k7", { pairing: pairing(), person: OWNER });
    expect(calls).toEqual([["k7", { person: OWNER, surface: "chat" }, undefined]]);
    expect(await said("pair", "", { pairing: pairing({ list: async () => [] }) })).toBe("No one waits to be let in.");
    expect(await said("pair", "")).toBe("No channel here asks for codes.");
    expect(await said("link", "")).toBe("No channel here asks for codes.");
    const missing = pairing({
      approve: async () => Promise.reject(new NotFoundError("No such code.", { hint: "Look." })),
    });
    expect(await said("pair", "k9", { pairing: missing })).toBe("No such code. Look.");
    const busy = pairing({ approve: async () => Promise.reject(new ConflictError("busy")) });
    await expect(run("pair", "k9", { pairing: busy })).rejects.toThrow("busy");
    const pair = commandNamed("pair");
    expect((await pair?.run?.("", contextOf({ pairing: pairing(), denied: "no" })))?.text).toContain(
      "You may not use /pair: no.",
    );
  });
  test.each<[string, object, string, string]>([
    ["ann", {}, "within 15 minutes:\n/link code-of-ann", "a person with a record"],
    ["owner", {}, "/link code-of-owner", "the owner"],
    ["telegram:7", {}, "Only people whom the owner let in", "an account without one"],
    ["ann", { chatType: "group" }, "Use /link in a direct message", "in a group"],
    ["ann", { chatType: "direct" }, "/link code-of-ann", "in a direct chat"],
  ])("/link of %s: %j", async (person, state, text) => {
    expect(await said("link", "", { pairing: pairing(), person: person as PersonId, agent: { state } })).toContain(
      text,
    );
  });
});
