import { expect, it } from "vitest";
import { mcpToolName } from "./tool-name.ts";
import { blockOf, textOfResource, toolOutput } from "./tool-output.ts";

const output = (result: object) => toolOutput({ content: [], ...result } as never, "bank");
const text = (words: string) => ({ type: "text", text: words });

it.each<[string, object, readonly object[]]>([
  ["text", { content: [text("a"), text("b")] }, [text("a"), text("b")]],
  ["nothing", {}, [text("(no output)")]],
  ["data without text", { structuredContent: { a: 1 } }, [text('{\n  "a": 1\n}')]],
  ["data with empty text", { content: [text("")], structuredContent: 1 }, [text(""), text("1")]],
  ["data with text", { content: [text("a")], structuredContent: { a: 1 } }, [text("a")]],
  ["half a character", { content: [text("a\ud800")] }, [text("a\ufffd")]],
])("shows %s of a server, marked as untrusted", (_, result, content) => {
  expect(output(result)).toEqual({ content, isError: undefined, untrusted: { from: "mcp:bank" } });
});

it("shows at most fifty blocks, and whether it is an error", () => {
  expect(output({ content: Array(60).fill(text("a")) }).content).toHaveLength(50);
  expect(output({ isError: true }).isError).toBe(true);
});

it.each<[string, object, object]>([
  [
    "an image",
    { type: "image", mimeType: "image/png", data: "AAAA" },
    { type: "image", mimeType: "image/png", data: "AAAA" },
  ],
  [
    "an image of another type",
    { type: "image", mimeType: "image/svg+xml", data: "AAAA" },
    text("[an image of type image/svg+xml that cannot be shown]"),
  ],
  [
    "an image that is too large",
    { type: "image", mimeType: "image/png", data: "A".repeat(5 * 1024 * 1024 + 1) },
    text("[an image of type image/png that cannot be shown]"),
  ],
  ["sound", { type: "audio", mimeType: "audio/mp3", data: "" }, text("[audio of type audio/mp3 that cannot be shown]")],
  ["a link", { type: "resource_link", uri: "note://1", name: "n" }, text("[resource note://1: n]")],
  ["a text with its address", { type: "resource", resource: { uri: "note://1", text: "t" } }, text("[note://1]\nt")],
  ["something new", { type: "hologram" }, text("[content of a kind that cannot be shown]")],
])("shows %s", (_, content, block) => {
  expect(blockOf(content as never)).toEqual(block);
});

it("names a resource that is not text by its type, and cuts long addresses", () => {
  expect(textOfResource({ uri: "note://1", blob: "AA", mimeType: "x/y" })).toBe("[note://1: x/y, not text]");
  expect(textOfResource({ uri: "u".repeat(600), text: "" })).toHaveLength(503);
});

it("gives two tools never the same name", () => {
  const names = [
    ["a", "b.c"],
    ["a", "b/c"],
    ["a", "b-c"],
    ["a", "x".repeat(60)],
    ["a", `${"x".repeat(60)}y`],
    ["a.b", "c"],
    ["a-b", "c"],
  ].map(([server = "", tool = ""]) => mcpToolName(server, tool));
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^mcp__[A-Za-z0-9_-]{1,59}$/);
  expect(mcpToolName("a", "x".repeat(56))).toBe(`mcp__a__${"x".repeat(56)}`);
});
