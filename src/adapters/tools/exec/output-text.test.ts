import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { MAX_SHOWN, shownOutput, shownPart } from "./output-text.ts";
import type { ProcessFiles } from "./process-files.ts";

const directory = mkdtempSync(join(tmpdir(), "rookery-output-"));
afterAll(() => rmSync(directory, { recursive: true }));
const written = (content: string): string => {
  const path = join(directory, "output");
  writeFileSync(path, content);
  return path;
};
const whole = (text: string, secrets: Record<string, string> = {}): Promise<string> =>
  shownPart(written(text), { begin: 0, end: Buffer.byteLength(text) }, secrets);

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
    ["with letters of other languages", { KEY: "geheím-日本" }, "a geheím-日本 ç", "a [KEY] ç"],
    ["if one begins inside another", { A: "abcdef", B: "defghi" }, "x abcdefghi y", "x [A] y"],
    ["if one ends with another", { A: "abcdef", B: "cdef" }, "abcdef cdef", "[A] [B]"],
  ])("are hidden %s", async (_, secrets, text, shown) => {
    expect(await whole(text, secrets)).toBe(shown);
  });

  const KEY = "s3cr3t-välue";

  it("are never shown in part, wherever an output is cut", async () => {
    const cut = (text: string, begin: number, end: number) => shownPart(written(text), { begin, end }, { KEY });
    for (const value of [KEY, "s3cr3t\u001b[1;31m-v\u001b[0mälue", "s3cr\u00003t-välue"]) {
      const [before, size] = ["before ", Buffer.byteLength(value)];
      for (let inside = 1; inside < size; inside++) {
        const edge = before.length + inside;
        expect(await cut(`${before}${value} after`, edge, edge + 4_000)).toBe("[KEY] after");
        expect(await cut(`${before}${value} after`, 0, edge)).toBe("before [KEY]");
        expect(await cut(`${before}${value} after`, edge, edge + 1)).toBe("[KEY]");
      }
      expect(await cut(`${before}${value} after`, before.length + size, 100)).toBe(" after");
      expect(await cut(`${before}${value} after`, 0, before.length)).toBe(before);
    }
  });

  it("are found however long they are", async () => {
    const long = "0123456789".repeat(700);
    const path = written(`a ${long} b`);
    expect(await shownPart(path, { begin: 6_990, end: 7_010 }, { KEY: long })).toBe("[KEY] b");
    expect(await shownPart(path, { begin: 0, end: 10 }, { KEY: long })).toBe("a [KEY]");
  });

  it("are hidden while they are being written: the rest may follow", async () => {
    const end = (text: string) => shownPart(written(text), { begin: 0, end: text.length }, { KEY });
    expect(await end("a s3cr")).toBe("a [KEY]");
    expect(await end("a s3cr3t-v")).toBe("a [KEY]");
    expect(await end("a s3\u001b[0mcr")).toBe("a [KEY]");
    expect(await end("a s3c")).toBe("a s3c");
    expect(await end("a s3cr ")).toBe("a s3cr ");
    expect(await shownPart(written("a s3cr and more"), { begin: 0, end: 6 }, { KEY })).toBe("a s3cr");
  });

  it("stand in the middle of a long output that is cut there", async () => {
    const { text } = await shownOutput(
      { output: written(`${"x".repeat(3_995)}${KEY}${"y".repeat(20_000)}${KEY}${"z".repeat(11_995)}`) } as ProcessFiles,
      { KEY },
    );
    expect(text).toMatch(/^x{3995}\[KEY\]\n\[\d+ bytes left out\]\n\[KEY\]z{11995}$/);
  });
});

describe("the output of a command", () => {
  it.each([
    ["colours", "a\u001b[1;31mb\u001b[0mc", "abc"],
    ["movements of the cursor", "a\u001b[2J\u001b[10;20Hb\u001b[?25l", "ab"],
    ["a lone escape character", "a\u001bb", "ab"],
    ["other control characters", "a\u0007\b\u0000\u009bb", "ab"],
    ["line ends of other systems", "a\r\nb\rc", "a\nbc"],
  ])("is shown without %s", async (_, text, shown) => {
    expect(await whole(text)).toBe(shown);
  });

  it("keeps tabs, line ends and letters of all languages", async () => {
    expect(await whole("a\tb\nç 日本 🙂")).toBe("a\tb\nç 日本 🙂");
  });

  const shownOf = (content: string) => shownOutput({ output: written(content) } as ProcessFiles, { KEY: "s3cr3t" });

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
    const none = await shownOutput({ output: join(directory, "none") } as ProcessFiles, {});
    expect(none).toEqual({ text: "", bytes: 0, isWhole: true });
  });
});
