/** Which of an agent's files a request has, and as what: limits in number, size and pages, on files that are not real. */
import { describe, expect, it, test } from "vitest";
import { documentOf } from "../../core/history/document-block.ts";
import type { Block } from "../../core/history/entry.ts";
import { fileBlock } from "../../core/history/file-block.ts";
import type { AgentId } from "../../core/ids.ts";
import type { StoredFile } from "../../core/message/stored-file.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import { ShownFiles } from "./show-files.ts";

const GONE = "[This file is no longer stored.]";

const AGENT = "a".repeat(24) as AgentId;
type Known = Partial<Omit<StoredFile, "shown">> & { readonly shown: object; readonly bytes?: number };

/** Files by their ids. Reads are counted; a file can be taken away from the agent. */
function files(known: Readonly<Record<string, Known>>) {
  const reads: string[] = [];
  const hidden = new Set<string>();
  const store = {
    holdsFile: async (_agent: AgentId, id: string) => known[id] !== undefined && !hidden.has(id),
    file: async (id: string) =>
      known[id] && { id, name: `${id}.x`, mimeType: "application/pdf", size: 1, blob: id, ...known[id] },
  };
  const service = {
    read: async ({ blob }: { blob: string }) => {
      reads.push(blob);
      const { bytes = 3 } = known[blob] ?? { bytes: -1 };
      return bytes < 0 ? undefined : Buffer.alloc(bytes, "x");
    },
  };
  return { shown: new ShownFiles(store as never, service as never), reads, hidden };
}
const naming = (...ids: string[]): ModelMessage => ({
  role: "user",
  content: ids.map((id) => fileBlock(`[${id}]`, { id, name: id, mimeType: "m", size: 1 })),
});
const image = (id: string, bytes = 3): Known => ({ shown: { as: "image", blob: id, mimeType: "image/png" }, bytes });
const contents = async (shown: ShownFiles, ...messages: ModelMessage[]): Promise<readonly Block[]> =>
  (await shown.show(AGENT, messages)).flatMap(({ content }) => content);

it("a message that is larger than all that is kept is kept alone, until the next one comes", async () => {
  const { shown, reads } = files({ large: image("large", 48_000_001), small: image("small") });
  const [large, small] = [naming("large"), naming("small")];
  await shown.show(AGENT, [large]);
  await shown.show(AGENT, [large]);
  expect(reads).toEqual(["large"]);
  await shown.show(AGENT, [small]);
  await shown.show(AGENT, [small]);
  expect(reads).toEqual(["large", "small"]);
  await shown.show(AGENT, [large]);
  expect(reads).toEqual(["large", "small", "large"]);
});

describe("a PDF is shown as a document", () => {
  test.each([
    ["with 40 pages", { pages: 40 }, 8_000_000, true],
    ["not with 41", { pages: 41 }, 1, false],
    ["not with a byte more than eight million", { pages: 1 }, 8_000_001, false],
    ["not if its pages are unknown", {}, 1, false],
  ])("%s", async (_, pages, size, is) => {
    const { shown } = files({
      text: { size, shown: { as: "text", blob: "text", characters: 3, of: "pdf", ...pages } },
      scan: { size, shown: { as: "reference", ...pages } },
    });
    for (const id of ["text", "scan"]) {
      const [block, ...more] = await contents(shown, naming(id));
      expect(more).toEqual([]);
      expect(block && documentOf(block) !== undefined).toBe(is);
      const read = id === "text" ? '[text]\n<file_content of="pdf">\nxxx\n</file_content>' : "[scan]";
      expect(block).toMatchObject({ type: "text", text: read });
    }
  });

  it("with its name, its type and the line that names it; without its bytes it is its text", async () => {
    const { shown } = files({
      scan: { shown: { as: "reference", pages: 2 } },
      lost: { shown: { as: "reference", pages: 2 }, bytes: -1 },
    });
    const [scan, lost] = await contents(shown, naming("scan", "lost"));
    expect(scan && documentOf(scan)).toEqual({
      ...{ name: "scan.x", mimeType: "application/pdf", pages: 2, line: "[scan]" },
      data: Buffer.from("xxx").toString("base64"),
    });
    expect(lost).toEqual({ type: "text", text: "[lost]" });
  });
});

describe("a request has room for", () => {
  it("forty pages in all, the latest first, and an older document that still fits", async () => {
    const pdf = (pages: number): Known => ({ shown: { as: "reference", pages } });
    const { shown } = files({ a: pdf(5), b: pdf(30), c: pdf(10), d: pdf(25) });
    const sent = await contents(shown, naming("a", "b"), naming("c", "d"));
    expect(sent.map((block) => documentOf(block)?.pages)).toEqual([5, undefined, 10, 25]);
    expect(sent.map((block) => block.type === "text" && block.text)).toEqual(["[a]", "[b]", "[c]", "[d]"]);
  });

  it("sixteen million characters of images, the latest first", async () => {
    // Three bytes are four characters.
    const { shown } = files({ a: image("a"), b: image("b", 3_000_000), c: image("c", 9_000_000) });
    const sent = await contents(shown, naming("a"), naming("b", "c"));
    expect(sent.map(({ type }) => type)).toEqual(["text", "text", "text", "image", "text", "image"]);
    expect(sent[1]).toMatchObject({ text: expect.stringContaining("not shown again") });
  });
});

describe("a file", () => {
  it("that the agent does not refer to, or whose bytes are missing, is a placeholder", async () => {
    const { shown } = files({ gone: image("gone", -1) });
    expect(await contents(shown, naming("gone", "unknown"))).toEqual([
      { type: "text", text: `[gone]\n${GONE}` },
      { type: "text", text: `[unknown]\n${GONE}` },
    ]);
  });

  it("is read once for the same message, and again when the agent may no longer see one of them", async () => {
    const { shown, reads, hidden } = files({ a: image("a"), b: image("b") });
    const message = naming("a", "b");
    const first = await contents(shown, message);
    expect(await contents(shown, message)).toEqual(first);
    expect(reads).toEqual(["a", "b"]);
    hidden.add("b");
    expect((await contents(shown, message)).at(-1)).toEqual({ type: "text", text: `[b]\n${GONE}` });
    hidden.delete("b");
    hidden.add("a");
    // A placeholder is kept as what it was: the message names the file that could not be shown then.
    expect((await contents(shown, message))[0]).toEqual({ type: "text", text: `[a]\n${GONE}` });
  });

  it("of the messages used longest ago is read again if all of them would take too much memory", async () => {
    // About 31 million characters each, of 64 million in all.
    const large = (id: string): Known => image(id, 23_000_000);
    const { shown, reads } = files({ a: large("a"), b: large("b"), c: large("c"), small: image("small") });
    const [a, b, c, small] = [naming("a"), naming("b"), naming("c"), naming("small")];
    for (const message of [a, b, small, a, b]) await shown.show(AGENT, [message]);
    expect(reads).toEqual(["a", "b", "small"]);
    await shown.show(AGENT, [a]);
    // The third one takes the place of the second: the first was used after it.
    for (const message of [c, a, small]) await shown.show(AGENT, [message]);
    expect(reads).toEqual(["a", "b", "small", "c", "small"]);
    await shown.show(AGENT, [b]);
    expect(reads.at(-1)).toBe("b");
  });

  it("leaves messages without files as they are", async () => {
    const { shown } = files({ a: image("a") });
    const plain: ModelMessage = { role: "user", content: [{ type: "text", text: "hi" }] };
    const messages = [plain];
    expect(await shown.show(AGENT, messages)).toBe(messages);
    const [first, second] = await shown.show(AGENT, [plain, naming("a")]);
    expect(first).toBe(plain);
    expect(second?.content).toHaveLength(2);
  });

  test.each([
    [{ cut: true }, "[t]\n<file_content>\nxxx\n</file_content>\n[There is more. Open it with read, path t.]"],
    [{ of: "transcript" }, '[t]\n<file_content of="transcript">\nxxx\n</file_content>'],
    [{}, "[t]\n<file_content>\nxxx\n</file_content>"],
  ])("with text and %j is shown as %s", async (more, text) => {
    const { shown } = files({ t: { shown: { as: "text", blob: "t", characters: 3, ...more } } });
    expect(await contents(shown, naming("t"))).toEqual([{ type: "text", text }]);
  });
});
