/** What `/memory` and `/model` show and change, and for whom. */
import { describe, expect, test } from "vitest";
import { NotFoundError } from "../../core/errors.ts";
import type { PersonId } from "../../core/people/person.ts";
import { commandNamed } from "./chat-commands.ts";
import { ANN, said } from "./command-context.test-kit.ts";

describe("/memory undo", () => {
  const change = (id: number, more: object = {}) => ({ id, file: `n${id}.md`, is: "changed", undone: false, ...more });
  const listed = async (changes: readonly object[]): Promise<readonly string[]> => {
    const memoryChanges = { list: async () => changes, undo: async () => ({ file: "n.md", id: 9 }) };
    return (await said("memory", "undo", { parts: { memoryChanges } as never })).split("\n");
  };

  test("lists the last five changes, or says that there is none", async () => {
    expect(await listed([])).toEqual(["There is no change of your notes."]);
    const [title = "", ...one] = await listed([change(1)]);
    expect(title).toContain("/memory undo NUMBER");
    expect(one).toEqual(["1: changed n1.md"]);
    const many = await listed([change(7, { undone: true }), ...[6, 5, 4, 3, 2].map((id) => change(id))]);
    expect(many.slice(1)).toEqual([
      "7: changed n7.md (undone)",
      ...[6, 5, 4, 3].map((id) => `${id}: changed n${id}.md`),
    ]);
  });

  test("takes one back only for the person whose notes they are", async () => {
    const asked: unknown[] = [];
    const memoryChanges = {
      list: async () => [change(1)],
      undo: async (_: unknown, person: PersonId, id: number) => {
        asked.push([person, id]);
        if (id === 3) throw new NotFoundError("There is no change 3.");
        return { file: "n.md", id: 9 };
      },
    };
    const parts = { memoryChanges } as never;
    expect(await said("memory", "undo 2", { parts })).toBe(
      "Undone: n.md is as it was before change 2. /memory undo 9 takes that back.",
    );
    expect(await said("memory", "undo 3", { parts })).toBe("There is no change 3.");
    const other = { parts, person: "bob" as PersonId };
    expect(await said("memory", "undo 2", other)).toBe("There is no change of your notes here.");
    expect(await said("memory", "undo", other)).toBe("There is no change of your notes here.");
    expect(asked).toEqual([
      [ANN, 2],
      [ANN, 3],
    ]);
  });
});

describe("/memory", () => {
  test.each([
    ["", true],
    ["notes.md", true],
    ["undo", true],
    ["undo 5", true],
    ["undo it all", false],
    ["of yesterday", false],
  ])("with %j after it is a command: %s", (rest, reads) => {
    expect(commandNamed("memory")?.reads(rest)).toBe(reads);
  });

  test("names a file that is not there in 64 characters, and the others that are", async () => {
    const memory = async (_: unknown, name?: string) =>
      name === undefined ? { name: "MEMORY.md", names: ["MEMORY.md", "tea.md"], text: "x" } : undefined;
    const parts = { memory } as never;
    expect(await said("memory", "n".repeat(70), { parts })).toBe(`There is no memory file "${"n".repeat(64)}".`);
    expect(await said("memory", "", { parts })).toBe("MEMORY.md:\nx\nAlso: tea.md. /memory FILE shows one.");
    const memoryChanges = { list: async () => [{ id: 1, file: "f".repeat(70), is: "changed", undone: false }] };
    expect(await said("memory", "undo", { parts: { memoryChanges } as never })).toContain(
      `1: changed ${"f".repeat(64)}`,
    );
  });

  test("does not hide an error that is none of the notes", async () => {
    const memoryChanges = { list: () => Promise.reject(new TypeError("broken")) };
    await expect(said("memory", "undo", { parts: { memoryChanges } as never })).rejects.toThrow("broken");
  });
});

test("/model asks whether the agent may use it, as the agent would be then", async () => {
  const asked: unknown[] = [];
  const models = {
    describe: async () => ({ model: "a/b", choices: [] }),
    problem: async (agent: unknown, patch: unknown) => void asked.push([agent, patch]),
  };
  const parts = { models } as never;
  const agent = { state: { stats: {}, thinkingLevel: "high", providerOverride: "old" } };
  expect(await said("model", "x/y", { parts, agent })).toBe("Model: x/y.");
  expect(asked).toEqual([
    [
      {
        ...{ id: "a1", person: ANN },
        state: { stats: {}, thinkingLevel: "high", modelOverride: "x/y", providerOverride: undefined },
      },
      { modelOverride: "x/y", providerOverride: null },
    ],
  ]);
  expect((await said("model", "", { parts })).split("\n")[0]).toBe("Model: a/b.");
});
