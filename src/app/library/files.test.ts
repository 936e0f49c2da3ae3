/** Files through the whole engine: sent by a program, seen by the model, opened and sent back by tools, read from a mailbox. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { lastText, modelResult } from "../../../test/kit/model.ts";
import { pngOf } from "../../adapters/files/samples.test-kit.ts";
import type { Block } from "../../core/history/entry.ts";
import type { Model, ModelRequest } from "../../core/ports/model.ts";
import { connectRookery } from "./connect-rookery.ts";
import { createRookery, type Rookery } from "./create-rookery.ts";
import { fileFromPath } from "./file-from-path.ts";

const home = mkdtempSync(join(tmpdir(), "rookery-files-"));
let requests: ModelRequest[] = [];
/** What the model does: "call NAME JSON" calls a tool. */
const model: Model = {
  async call(request) {
    requests.push(request);
    const last = request.messages.at(-1);
    const [, name, args] = /^call (\w+) (.*)$/s.exec(last?.role === "user" ? lastText(request) : "") ?? [];
    if (name === undefined) return modelResult("done");
    const call = { type: "toolCall", id: `c${requests.length}`, name, arguments: JSON.parse(args ?? "{}") } as const;
    return { ...modelResult(""), content: [call], stopReason: "tool_calls" };
  },
};
let rookery: Rookery;
let png: Buffer;
beforeAll(async () => {
  png = await pngOf(20, 10);
  rookery = await createRookery({ home, model, env: {} });
});
beforeEach(() => {
  requests = [];
});
afterAll(async () => {
  await rookery.close();
  rmSync(home, { recursive: true, force: true });
});

const shown = (): readonly Block[] => requests[0]?.messages.findLast(({ role }) => role === "user")?.content ?? [];
const toolResult = (): readonly Block[] => requests.at(-1)?.messages.at(-1)?.content ?? [];

describe("a program sends", () => {
  it("bytes, a Blob, a file of the disk and a stored file", async () => {
    const path = join(home, "note.txt");
    writeFileSync(path, "from the disk");
    const kept = await rookery.files.put(Buffer.from("stored before"), { name: "kept.txt", user: "ann" });
    const files = [png, new File(["from a blob"], "blob.txt"), await fileFromPath(path), kept];
    expect(await rookery.agent("ann").ask("look", { files })).toBe("done");
    expect(shown()).toContainEqual({ type: "image", mimeType: "image/png", data: png.toString("base64") });
    const texts = shown().map((block) => (block.type === "text" ? block.text : ""));
    expect(texts.join("\n")).toMatch(
      /blob\.txt[\s\S]*from a blob[\s\S]*note\.txt[\s\S]*from the disk[\s\S]*stored before/,
    );
    expect((await rookery.files.list({ user: "ann" })).items).toHaveLength(4);
  });

  it("a text that is too long for a request: it becomes a file, in the process and over a connection", async () => {
    const text = `begin ${"é".repeat(1_500_000)} end`;
    await using connected = connectRookery({ home });
    for (const [user, client] of [
      ["long-here", rookery],
      ["long-there", connected],
    ] as const) {
      expect(await client.agent(user).ask(text, { id: user })).toBe("done");
      // The same id again is the same message.
      expect(await client.agent(user).ask(text, { id: user })).toBe("done");
      const { items } = await client.files.list({ user });
      expect(items.map(({ name }) => name)).toEqual(["message.txt"]);
      expect(await (await client.files.get(items[0]?.id ?? "", { user })).text()).toBe(text);
    }
    expect(JSON.stringify(shown())).toContain(`begin é`);
    expect(requests).toHaveLength(2);
  });

  it("a message of files alone, and streams its answer", async () => {
    const types: string[] = [];
    for await (const { type } of rookery.agent("ann").stream("", { files: [png] })) types.push(type);
    expect(types.at(-1)).toBe("end");
    expect(shown().map(({ type }) => type)).toEqual(["text", "image"]);
  });

  it("never a path in a string", async () => {
    const sent = rookery.agent("ann").ask("look", { files: ["/etc/passwd" as never] });
    await expect(sent).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("never a file"),
    });
    expect(requests).toEqual([]);
  });

  it("the owner's file to another person: it becomes that person's too", async () => {
    const mine = await rookery.files.put(Buffer.from("of the owner"), { name: "mine.txt" });
    await rookery.agent("bob").ask("read", { files: [mine] });
    expect(JSON.stringify(shown())).toContain("of the owner");
    expect((await rookery.files.list({ user: "bob" })).items).toMatchObject([
      { name: "mine.txt", sha256: mine.sha256 },
    ]);
  });
});

describe("an agent", () => {
  it("opens a file of its conversation with read: a text in parts, an image as an image", async () => {
    const long = Array.from({ length: 20_000 }, (_, n) => `line ${n + 1}`).join("\n");
    const text = await rookery.files.put(Buffer.from(long), { name: "long.txt", user: "ann" });
    const image = await rookery.files.put(png, { name: "p.png", user: "ann" });
    await rookery.agent("ann").ask("keep these", { files: [text, image] });
    await rookery.agent("ann").ask(`call read ${JSON.stringify({ path: text.id, offset: 19_990 })}`);
    expect(toolResult()[0]).toMatchObject({ text: expect.stringMatching(/^line 19990\n[\s\S]*line 20000$/) });
    await rookery.agent("ann").ask(`call read ${JSON.stringify({ path: image.id })}`);
    expect(toolResult().map(({ type }) => type)).toEqual(["text", "image"]);
  });

  it("cannot open a file that is not of its conversation, although it is its person's", async () => {
    const other = await rookery.files.put(Buffer.from("never sent"), { name: "x.txt", user: "ann" });
    await rookery.agent("ann").ask(`call read ${JSON.stringify({ path: other.id })}`);
    expect(toolResult()[0]).toMatchObject({ text: expect.stringContaining("There is no file") });
  });

  it("sends a file of its workspace; it waits in the mailbox and is read from there", async () => {
    await rookery.agent("eve").ask(`call write ${JSON.stringify({ path: "report.txt", content: "all is well" })}`);
    const send = `call send_file ${JSON.stringify({ path: "report.txt", text: "here it is" })}`;
    await (await rookery.agent("eve").send(send, { mailbox: true })).result();
    expect(toolResult()[0]).toMatchObject({ text: expect.stringMatching(/^report\.txt .* was sent\.$/) });
    const { items } = await rookery.mailbox("eve").list({ wait: 10 });
    const [item] = items;
    expect(item).toMatchObject({
      text: "here it is",
      files: [{ name: "report.txt", mimeType: "text/plain", size: 11 }],
    });
    const [file] = item?.files ?? [];
    const bytes = await rookery.mailbox("eve").file(item?.id ?? "", file?.id ?? "");
    expect(Buffer.from(bytes).toString()).toBe("all is well");
    const connected = connectRookery({ home });
    expect(Buffer.from(await connected.mailbox("eve").file(item?.id ?? "", file?.id ?? "")).toString()).toBe(
      "all is well",
    );
    await connected.close();
    await expect(rookery.mailbox("eve").file(item?.id ?? "", "file_other")).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("cannot send a file outside of its workspace", async () => {
    await rookery.agent("eve").ask(`call send_file ${JSON.stringify({ path: "../../tokens.json" })}`);
    expect(toolResult()[0]).toMatchObject({ text: expect.stringMatching(/outside|no file/) });
  });
});
