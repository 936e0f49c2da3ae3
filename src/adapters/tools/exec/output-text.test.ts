import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { hidesSecrets, MAX_SHOWN, readable, shownOutput } from "./output-text.ts";
import type { ProcessFiles } from "./process-files.ts";

const directory = mkdtempSync(join(tmpdir(), "rookery-output-"));
afterAll(() => rmSync(directory, { recursive: true }));
const asIs = (text: string): string => text;

describe("the values of secrets", () => {
  it.each<[string, Record<string, string>, string, string]>([
    ["wherever they are", { KEY: "s3cr3t" }, "a s3cr3t, s3cr3ts3cr3t", "a [KEY], [KEY][KEY]"],
    ["with characters of patterns", { KEY: "a.*(b" }, "a.*(b axx(b", "[KEY] axx(b"],
    ["with a name that looks like a reference", { "$&": "s3cr3t" }, "s3cr3t", "[$&]"],
    ["if one is a part of another", { A: "abcd", B: "abcdefgh" }, "abcdefgh abcd", "[B] [A]"],
    ["of four characters and more", { A: "abc", B: "abcd" }, "abc abcd", "abc [B]"],
    ["with colours in the middle", { KEY: "s3cr3t" }, "s3\u001b[1;31mcr\u001b[0m3t", "[KEY]"],
    ["with a character that no terminal shows", { KEY: "s3cr3t" }, "s3\u0000cr3t", "[KEY]"],
    ["with other line ends in them", { KEY: "one\r\ntwo" }, "one\r\ntwo", "[KEY]"],
  ])("are hidden %s", (_, secrets, text, shown) => {
    expect(readable(text, hidesSecrets(secrets))).toBe(shown);
  });
});

describe("the output of a command", () => {
  it.each([
    ["colours", "a\u001b[1;31mb\u001b[0mc", "abc"],
    ["movements of the cursor", "a\u001b[2J\u001b[10;20Hb\u001b[?25l", "ab"],
    ["a lone escape character", "a\u001bb", "ab"],
    ["other control characters", "a\u0007\b\u0000\u009bb", "ab"],
    ["line ends of other systems", "a\r\nb\rc", "a\nbc"],
  ])("is shown without %s", (_, text, shown) => {
    expect(readable(text, asIs)).toBe(shown);
  });

  it("keeps tabs, line ends and letters of all languages", () => {
    expect(readable("a\tb\nç 日本 🙂", asIs)).toBe("a\tb\nç 日本 🙂");
  });

  const shownOf = (content: string) => {
    const output = join(directory, "output");
    writeFileSync(output, content);
    return shownOutput({ output } as ProcessFiles, hidesSecrets({ KEY: "s3cr3t" }));
  };

  it("is whole up to the limit, and has its beginning and its end beyond it", async () => {
    const most = "x".repeat(MAX_SHOWN);
    expect(await shownOf(most)).toEqual({ text: most, bytes: MAX_SHOWN, isWhole: true });
    const { text, bytes, isWhole } = await shownOf(`begin${"x".repeat(MAX_SHOWN)}end`);
    expect([bytes, isWhole, text.length]).toEqual([MAX_SHOWN + 8, false, MAX_SHOWN + "\n[8 bytes left out]\n".length]);
    expect(text).toMatch(/^beginx+\n\[8 bytes left out\]\nx+end$/);
  });

  it("has no secrets, neither at its beginning nor at its end, and may be missing", async () => {
    expect((await shownOf("s3cr3t")).text).toBe("[KEY]");
    expect((await shownOf(`s3cr3t${"x".repeat(MAX_SHOWN)}s3cr3t`)).text).toMatch(/^\[KEY\]x+\n.*\nx+\[KEY\]$/);
    const none = await shownOutput({ output: join(directory, "none") } as ProcessFiles, asIs);
    expect(none).toEqual({ text: "", bytes: 0, isWhole: true });
  });
});
