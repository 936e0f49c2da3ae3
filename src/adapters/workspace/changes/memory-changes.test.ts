/** Whose notes a person sees and takes back: only those in the person's own directory (L13). */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { ChangeAuthor, FileChange } from "../../../core/file-change.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { FileChanges } from "./file-changes.ts";
import { memoryChanges } from "./memory-changes.ts";

const ANN = "ann" as PersonId;
const AGENT = { id: "a1" } as AgentRecord;
const VERSION = { sha256: "0".repeat(64), bytes: 1 };

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-memory-changes-"));
  mkdirSync(join(home, "people/ann"), { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const changed = (file: string, more: Partial<FileChange> = {}): FileChange => ({
  ...{ id: 7, at: 1, kind: "memory", file, state: "done", before: VERSION, after: VERSION },
  by: { person: "ann", surface: "run" },
  ...more,
});

/** What `ann` sees of these changes. `undone`: what was asked of the history. */
function notesOf(changes: readonly FileChange[], own: string | undefined = join(home, "people/ann")) {
  const undone: [number, ChangeAuthor][] = [];
  const history = {
    list: async () => changes,
    get: async (id: number) => {
      const found = changes.find((one) => one.id === id);
      if (!found) throw new NotFoundError("none");
      return found;
    },
    undo: async (id: number, by: ChangeAuthor) => {
      undone.push([id, by]);
      return changed("people/ann/MEMORY.md", { id: 8, after: null });
    },
  } as unknown as FileChanges;
  return { notes: memoryChanges(history, { home }, async () => own), undone };
}

describe("the changes of a person's notes", () => {
  test.each([
    ["people/ann/MEMORY.md", "MEMORY.md"],
    ["people/ann/memory/a.md", "memory/a.md"],
    // The name begins with two points and is still inside.
    ["people/ann/..memory/a.md", "..memory/a.md"],
    ["people/anna/MEMORY.md", undefined],
    ["people/bob/memory/a.md", undefined],
    ["people", undefined],
    ["workspace/MEMORY.md", undefined],
    ["people/ann/../bob/MEMORY.md", undefined],
    ["/elsewhere/MEMORY.md", undefined],
  ])("have %s as %s", async (file, name) => {
    const { notes, undone } = notesOf([changed(file)]);
    expect((await notes.list(AGENT)).map((one) => one.file)).toEqual(name === undefined ? [] : [name]);
    const undo = notes.undo(AGENT, ANN, 7);
    if (name === undefined) await expect(undo).rejects.toMatchObject({ code: "not_found" });
    else expect(await undo).toMatchObject({ id: 8, file: name, is: "removed" });
    expect(undone).toEqual(name === undefined ? [] : [[7, { person: ANN, surface: "chat", agentId: "a1" }]]);
  });

  test("are found by an absolute path too, and through a home that is a link", async () => {
    const outside = notesOf([changed("/srv/notes/MEMORY.md"), changed("/srv/notes2/MEMORY.md")], "/srv/notes");
    expect(await outside.notes.list(AGENT)).toMatchObject([{ file: "MEMORY.md" }]);
    const link = `${home}-link`;
    symlinkSync(home, link);
    try {
      const { notes } = notesOf([changed("people/ann/MEMORY.md")], join(link, "people/ann"));
      expect(await notes.list(AGENT)).toMatchObject([{ file: "MEMORY.md" }]);
    } finally {
      rmSync(link);
    }
  });

  test.each([
    ["of another kind", changed("people/ann/USER.md", { kind: "prompt" })],
    ["that is not known", changed("people/ann/MEMORY.md", { id: 6 })],
  ])("do not have one %s to take back", async (_, change) => {
    const { notes, undone } = notesOf([change]);
    await expect(notes.undo(AGENT, ANN, 7)).rejects.toThrow("There is no change 7 of your notes.");
    expect(undone).toEqual([]);
  });

  test("are none for a person who is not known", async () => {
    const { notes } = notesOf([changed("people/ann/MEMORY.md"), changed("MEMORY.md")]);
    const none = memoryChanges({ list: async () => [changed("MEMORY.md")] } as never, { home }, async () => undefined);
    expect(await none.list(AGENT)).toEqual([]);
    expect(await notes.list(AGENT)).toHaveLength(1);
  });

  test("say what has become of the file, and leave out what was not made", async () => {
    const file = "people/ann/MEMORY.md";
    const { notes } = notesOf([
      changed(file, { id: 5, before: null }),
      changed(file, { id: 4, after: null, undoneBy: 5 }),
      changed(file, { id: 3 }),
      changed(file, { id: 2, state: "failed" }),
      changed(file, { id: 1, state: "begun" }),
    ]);
    expect(await notes.list(AGENT)).toEqual([
      { id: 5, file: "MEMORY.md", is: "added", undone: false },
      { id: 4, file: "MEMORY.md", is: "removed", undone: true },
      { id: 3, file: "MEMORY.md", is: "changed", undone: false },
    ]);
  });
});
