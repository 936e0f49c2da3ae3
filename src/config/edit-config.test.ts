import { describe, expect, it } from "vitest";
import { withEntry } from "./edit-config.ts";
import { parseConfig } from "./parse-config.ts";
import { STARTER_CONFIG } from "./starter-config.ts";

const entry = '{ token: { env: "T" } }';
const read = (text: string) => parseConfig({ text, file: "test", env: { T: "x" } }).config;

describe("adding an entry to a configuration", () => {
  it.each([
    ["an empty file", ""],
    ["an empty object", "{}"],
    ["the starter", STARTER_CONFIG],
    ["another section", "{ log: { level: 'warn' } /* kept */ }"],
    ["the section, empty", "{ connectors: {} }"],
    ["the section, with others", '{ "connectors": { work: { kind: "telegram", token: { env: "T" } } } }'],
    ["a key of the same name elsewhere", "{ queue: { byChannel: { connectors: {} } } }"],
  ])("works in %s, and keeps the rest", (_, text) => {
    const added = withEntry(text, "connectors", "telegram", entry);
    expect(read(added).connectors.telegram?.token).toBeDefined();
    const { connectors: _before, ...before } = read(text || "{}");
    const { connectors: _after, ...after } = read(added);
    expect(after).toEqual(before);
    expect(added).toContain(text.includes("kept") ? "/* kept */" : "");
  });

  it.each(["whatsapp-web", "work.bot", "2nd", "in"])("takes the name %s as it is", (name) => {
    const value = '{ kind: "telegram", token: { env: "T" } }';
    for (const text of ["", "{}", "{ connectors: {} }"]) {
      const added = withEntry(text, "connectors", name, value);
      expect(Object.keys(read(added).connectors)).toEqual([name]);
      expect(() => withEntry(added, "connectors", name, value)).toThrow("already");
    }
  });

  it("refuses an entry that is there", () => {
    const text = withEntry("{}", "connectors", "telegram", entry);
    expect(() => withEntry(text, "connectors", "telegram", entry)).toThrow("has connectors.telegram already");
  });
});
