import { describe, expect, it, test } from "vitest";
import { boundedBytes, fetchFiles } from "./fetch-files.ts";

const remote = (name: string, size?: number) => ({ fileId: name, name, size, what: "document" });
const reference = (name: string) => ({ id: `file_${name}`, name, mimeType: "text/plain", size: 1 }) as never;

function world(download: (tries: number) => Promise<Uint8Array | { refused: string }>) {
  const stored: string[] = [];
  const asked: number[] = [];
  let tries = 0;
  const files = {
    maxBytes: 10,
    async put({ name = "", userId, data }: { name?: string; userId: string; data: Uint8Array }) {
      stored.push(`${userId} ${name} ${Buffer.from(data).toString("utf8")}`);
      return reference(name);
    },
    read: async () => undefined,
  };
  const fetching = {
    files,
    download: (_: unknown, limit: number) => {
      asked.push(limit);
      return download(++tries);
    },
  };
  return { fetching, stored, asked };
}

describe("a file of a message", () => {
  it("is stored for its sender, and each of several is", async () => {
    const { fetching, stored } = world(async () => Buffer.from("x"));
    const { files, missing } = await fetchFiles(fetching, "ann", [remote("a"), remote("b")]);
    expect([stored, files.map(({ name }) => name), missing]).toEqual([["ann a x", "ann b x"], ["a", "b"], []]);
  });

  it("that does not come is asked for three times, and its address is not told", async () => {
    const { fetching, asked } = world(() => Promise.reject(new TypeError("410 at https://a.example/bot123/x now")));
    const { files, missing } = await fetchFiles(fetching, "ann", [remote("a\n b")]);
    expect([asked.length, files, missing]).toEqual([
      3,
      [],
      ['[document "a b" was not fetched: 410 at the server now]'],
    ]);
  });

  it("that comes at the third try is stored once", async () => {
    const { fetching, stored } = world((tries) =>
      tries < 3 ? Promise.reject(new TypeError("cut")) : Promise.resolve(Buffer.from("x")),
    );
    expect((await fetchFiles(fetching, "ann", [remote("a")])).missing).toEqual([]);
    expect(stored).toEqual(["ann a x"]);
  });

  it("that is refused is asked for once", async () => {
    const { fetching, asked } = world(async () => ({ refused: "gone" }));
    expect((await fetchFiles(fetching, "ann", [remote("a")])).missing).toEqual([
      '[document "a" was not fetched: gone]',
    ]);
    expect(asked).toHaveLength(1);
  });

  test.each([
    [10, [10]],
    [11, []],
    [undefined, [10]],
  ])("keeps the limit of the store for a size of %s", async (size, asked) => {
    const one = world(async () => Buffer.from("x"));
    const { missing } = await fetchFiles(one.fetching, "ann", [remote("a", size)]);
    expect(one.asked).toEqual(asked);
    expect(missing.join()).toBe(asked.length > 0 ? "" : '[document "a" was not fetched: it is larger than 10 bytes]');
  });
});

test.each([
  [["ab", "cd"], 4, "abcd"],
  [["ab", "cde"], 4, "refused"],
  [[], 0, ""],
])("the parts %j with a limit of %i are %s", async (parts, limit, expected) => {
  async function* stream() {
    for (const part of parts) yield Buffer.from(part);
  }
  const found = await boundedBytes(stream(), limit);
  expect("refused" in found ? "refused" : Buffer.from(found).toString("utf8")).toBe(expected);
});
