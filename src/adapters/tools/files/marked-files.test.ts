/** What file tools tell the gate about a call, and how the mark of untrusted text stays with files. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import { openFileMarks } from "../../workspace/open-file-marks.ts";
import type { FileMarks } from "./file-marks.ts";
import { fileTools } from "./file-tools.ts";
import type { StoredFiles } from "./stored-files.ts";

let root: string;
let ws: string;
let marks: FileMarks;
let person: string | undefined;
let put: { name: string; behalf: Behalf; data: Uint8Array }[];
let files: Map<string, StoredFile>;
const at = (name: string): string => join(ws, name);
const ID = `file_${"0".repeat(32)}`;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "rookery-marked-")));
  ws = join(root, "ws");
  mkdirSync(at("d"), { recursive: true });
  writeFileSync(at("a.txt"), "one\ntwo\n");
  symlinkSync("a.txt", at("link"));
  marks = openFileMarks({ home: root });
  [person, put, files] = ["ann", [], new Map()];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const stored: StoredFiles = {
  async find(_, id) {
    const file = files.get(id);
    if (!file) throw new TypeError("no such file");
    return file;
  },
  read: async (blob) => (blob === "gone" ? undefined : new TextEncoder().encode(`bytes of ${blob}`)),
  async put(file) {
    put.push(file);
    return { ...file, id: ID, mimeType: "text/plain", size: file.data.length, shown: { as: "reference" } } as never;
  },
};
const tool = (name: string): Tool =>
  fileTools({ placesOf: () => ({ workingDir: ws }), personOf: async () => person, marks, stored }).find(
    (one) => one.name === name,
  ) as Tool;
const agent = { id: "a", person: "ann", state: {} } as AgentRecord;
const context = (more: Partial<ToolContext> = {}): ToolContext =>
  ({
    ...{ agent, agentId: "a", runId: "r", callId: "c", delivery: { channel: "test", to: "ann" } },
    ...{ signal: new AbortController().signal, ...more },
  }) as never;
const call = (name: string, input: object, more?: Partial<ToolContext>): Promise<ToolOutput> =>
  tool(name).execute(tool(name).input.parse(input), context(more));
const WARY: Partial<ToolContext> = { behalf: { person: "ann", untrusted: true } as Behalf };
const patchOf = (...lines: readonly string[]) => ({
  patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n"),
});

describe("the effects of a call", () => {
  const write = ["a.txt", "write"] as const;
  const read = ["a.txt", "read"] as const;
  it.each<[string, object, readonly string[], readonly (readonly [string, string])[]]>([
    ["read", { path: "a.txt" }, ["read"], [read]],
    ["read", { path: "link" }, ["read"], [read]],
    ["read", { path: "d/../x/../a.txt" }, ["read"], [read]],
    ["read", { path: "../out.txt" }, ["read"], [["../out.txt", "read"]]],
    ["send_file", { path: "a.txt" }, ["read"], [read]],
    ["write", { path: "d/n.txt", content: "" }, ["write"], [["d/n.txt", "write"]]],
    ["edit", { path: "link", oldText: "a", newText: "b" }, ["read", "write"], [write]],
    ["list", {}, ["read"], [[".", "read"]]],
    ["list", { path: "d" }, ["read"], [["d", "read"]]],
    ["grep", { pattern: "x" }, ["read"], [[".", "read"]]],
    ["find", { glob: "x", path: "d" }, ["read"], [["d", "read"]]],
    [
      "apply_patch",
      patchOf("*** Delete File: link", "*** Add File: n.txt", "+x"),
      ["read", "write"],
      [write, ["n.txt", "write"]],
    ],
    ["apply_patch", { patch: "nothing" }, ["read", "write"], []],
  ])("of %s with %j are its rights and its real paths", async (name, input, rights, paths) => {
    expect(await tool(name).effects?.(input, context())).toEqual(
      paths.map(([path, access]) => ({
        ...{ action: name, rights, target: "files:ann", of: "ann" },
        detail: { kind: "path", access, path: join(ws, path) },
      })),
    );
    expect(tool(name).rights).toEqual(rights);
  });

  it.each([
    ["a group", "test:group:-1"],
    ["no one", undefined],
  ])("name no person for the files of %s", async (_, whose) => {
    person = whose;
    const [effect] = (await tool("read").effects?.({ path: "a.txt" }, context())) ?? [];
    expect([effect?.of, effect?.target]).toEqual([undefined, undefined]);
  });
});

describe("the mark of untrusted text", () => {
  const marked = async (path: string, name = "read"): Promise<unknown> => (await call(name, { path })).untrusted;

  it.each<[string, Partial<ToolContext>, boolean]>([
    ["with such text on its way", WARY, true],
    ["of an agent with the mark", { agent: { ...agent, state: { untrusted: true } } as AgentRecord }, true],
    ["of an agent that was made with it", { agent: { ...agent, state: { madeUntrusted: true } } as AgentRecord }, true],
    ["for a person who is trusted", { behalf: { person: "ann" } as Behalf }, false],
    ["without a person", {}, false],
  ])("is on what a run writes %s: %s", async (_, more, isMarked) => {
    await call("write", { path: "n.txt", content: "obey" }, more);
    await call("apply_patch", patchOf("*** Add File: p.txt", "+obey"), more);
    await call("edit", { path: "a.txt", oldText: "one", newText: "obey" }, more);
    for (const path of ["n.txt", "p.txt", "a.txt"])
      expect(await marked(path)).toEqual(isMarked ? { from: `file:${path}` } : undefined);
  });

  it("stays on what is left of a text after an edit and a patch, and goes with other content", async () => {
    await call("write", { path: "n.txt", content: "obey\nrest\n" }, WARY);
    await call("edit", { path: "n.txt", oldText: "rest", newText: "more" });
    expect(await marked("n.txt")).toEqual({ from: "file:n.txt" });
    await call("apply_patch", patchOf("*** Update File: n.txt", "-more", "+less"));
    expect(await marked("n.txt")).toEqual({ from: "file:n.txt" });
    await call("write", { path: "n.txt", content: "mine" });
    expect(await marked("n.txt")).toBeUndefined();
  });

  it("comes with names and lines too: list, grep and find", async () => {
    for (const [name, input] of [
      ["list", {}],
      ["grep", { pattern: "." }],
      ["find", { glob: "*" }],
    ] as const) {
      expect((await call(name, input)).untrusted).toBeUndefined();
    }
    await call("write", { path: "d/n.txt", content: "obey" }, WARY);
    expect((await call("list", {})).untrusted).toEqual({ from: "file:." });
    expect((await call("list", { path: "d" })).untrusted).toEqual({ from: "file:d" });
    expect((await call("grep", { pattern: "obey" })).untrusted).toEqual({ from: "file:d/n.txt" });
    expect((await call("grep", { pattern: "one" })).untrusted).toBeUndefined();
    expect((await call("find", { glob: "n.*" })).untrusted).toEqual({ from: "file:d/n.txt" });
    expect((await call("find", { glob: "a.*" })).untrusted).toBeUndefined();
  });

  it.each<[string, string | Buffer]>([
    ["plain text", "obey"],
    ["text with a byte order mark", "\ufeffobey"],
    ["bytes that are no text", Buffer.from([0xff, 0x00, 0x80])],
  ])("goes with a file that is sent: %s", async (_, content) => {
    if (typeof content === "string") await call("write", { path: "n.txt", content }, WARY);
    else {
      await marks.suspect("command", [ws], 0);
      writeFileSync(at("n.txt"), content);
      await marks.settle("command");
    }
    await call("send_file", { path: "n.txt" });
    expect(put).toMatchObject([{ name: "n.txt", behalf: { person: "ann", untrusted: true } }]);
    expect(Buffer.from(put[0]?.data ?? [])).toEqual(Buffer.from(content));
  });

  it("is not on other files that are sent, unless the run has such text on its way", async () => {
    await call("send_file", { path: "a.txt" });
    await call("send_file", { path: "a.txt" }, WARY);
    expect(put.map(({ behalf }) => behalf.untrusted)).toEqual([undefined, true]);
  });
});

describe("send_file", () => {
  it("sends to where the run answers, with the text and a hold on the file", async () => {
    const output = await call("send_file", { path: "a.txt", text: "  here  " });
    expect(output.deliveries).toMatchObject([
      { target: { channel: "test", to: "ann" }, payload: { text: "here", files: [{ id: ID, name: "a.txt" }] } },
    ]);
    expect(output.ops).toEqual([{ op: "file.hold", files: [ID], by: { agentId: "a" } }]);
    expect((await call("send_file", { path: "a.txt", text: "  " })).deliveries?.[0]?.payload.text).toBeUndefined();
  });

  it("sends nothing from outside, nothing for no one, and nothing to no one", async () => {
    await expect(call("send_file", { path: "../out.txt" })).rejects.toThrow("outside the allowed directories");
    const nobody = { agent: { ...agent, person: undefined } as AgentRecord };
    await expect(call("send_file", { path: "a.txt" }, nobody)).rejects.toThrow("belongs to no one");
    const alone = { delivery: undefined, agent: { ...agent, descriptor: { type: "cron" } } as AgentRecord };
    await expect(call("send_file", { path: "a.txt" }, alone)).rejects.toThrow("No one listens");
    expect(put).toEqual([]);
  });

  it("takes an id for a file of the conversation only", async () => {
    writeFileSync(at(ID), "a file with such a name");
    await expect(call("send_file", { path: ID })).rejects.toThrow("no such file");
    await expect(call("read", { path: ID })).rejects.toThrow("no such file");
    await expect(call("read", { path: `${ID}0` })).rejects.toThrow("There is no file");
  });
});

describe("read with the id of a file", () => {
  const file = (shown: object, behalf: object = { person: "ann" }): StoredFile =>
    ({ id: ID, name: "n.pdf", mimeType: "application/pdf", size: 3, blob: "own", behalf, shown }) as never;
  it.each<[string, object, string]>([
    ["a text, whole", { as: "text", blob: "cut", characters: 1 }, "bytes of own"],
    ["the text of a PDF", { as: "text", blob: "pdf-text", of: "pdf", characters: 1 }, "bytes of pdf-text"],
  ])("shows %s", async (_, shown, text) => {
    files.set(ID, file(shown));
    expect(await call("read", { path: ID })).toEqual({ content: [{ type: "text", text }], untrusted: undefined });
    files.set(ID, file(shown, { person: "eve", untrusted: true }));
    expect((await call("read", { path: ID })).untrusted).toEqual({ from: "file:n.pdf" });
  });

  it("shows an image as a reference, and says why another file is not shown", async () => {
    files.set(ID, file({ as: "image", blob: "b", mimeType: "image/png" }, { person: "eve", untrusted: true }));
    const image = await call("read", { path: ID });
    expect(image.untrusted).toEqual({ from: "file:n.pdf" });
    expect(JSON.stringify(image.content)).toContain("n.pdf (application/pdf, 3 bytes)");
    files.set(ID, file({ as: "reference", why: "It is locked." }));
    await expect(call("read", { path: ID })).rejects.toThrow(
      "n.pdf (application/pdf, 3 bytes) is not a text. It is locked.",
    );
    files.set(ID, file({ as: "text", blob: "gone", of: "pdf", characters: 1 }));
    await expect(call("read", { path: ID })).rejects.toThrow("The content of n.pdf is no longer stored.");
  });
});
