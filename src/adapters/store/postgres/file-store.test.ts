import { expect, test } from "vitest";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Connections } from "./connections.ts";
import { databaseFileStore } from "./file-store.ts";

/** The table as a map; `fails` is what the next statement that writes throws. */
function opened() {
  const table = new Map<string, Buffer>();
  const state: { fails: Error | undefined } = { fails: undefined };
  const query = async (text: string, [path, content]: [string, Buffer?]): Promise<void> => {
    await Promise.resolve();
    if (state.fails) throw state.fails;
    if (text.startsWith("DELETE")) table.delete(path);
    else if (content) table.set(path, content);
  };
  const connections = {
    use: (_: string, work: (client: unknown) => unknown) => work({ query }),
    one: async (_: unknown, path: string) => {
      const content = table.get(path);
      return content && { content };
    },
  } as unknown as Connections;
  return { files: databaseFileStore(connections), state };
}

test("a file is read where writing it said, until it is removed", async () => {
  const { files } = opened();
  const path = await files.write("a.txt", "hello");
  expect(path).toBe("store:a.txt");
  expect(files.pathOf("a.txt")).toBe(path);
  expect(Buffer.from((await files.read(path)) ?? []).toString()).toBe("hello");
  await files.remove(path);
  expect(await files.read(path)).toBeUndefined();
});

test("a write or a removal that fails is reported to its caller", async () => {
  const { files, state } = opened();
  const path = await files.write("a.txt", "hello");
  state.fails = new Error("no connection");
  await expect(files.write("b.txt", "x")).rejects.toThrow("no connection");
  await expect(files.remove(path)).rejects.toThrow("no connection");
});

test.each(["", "a/b", "a\\b", "a\0b"])("%j is not a file name", async (name) => {
  await expect(opened().files.write(name, "x")).rejects.toThrow(InvalidInputError);
});

test("a path of another store is refused", async () => {
  const { files } = opened();
  await expect(files.read("/tmp/a.txt")).rejects.toThrow(InvalidInputError);
  await expect(files.remove("a.txt")).rejects.toThrow(InvalidInputError);
});
