import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { textOf } from "../../test/kit/read-qr.ts";
import { qrRows } from "./qr-code.ts";

const shown = (text: string): readonly string[] =>
  (qrRows(text) ?? []).map((row) => row.map((on) => (on ? "1" : "0")).join(""));

describe("a QR code", () => {
  it("has the size of the smallest version that holds the text", () => {
    for (const [length, size] of [
      [1, 21],
      [17, 21],
      [18, 25],
      [230, 53],
      [231, 57],
      [271, 57],
      [272, 61],
      [858, 97],
    ] as const)
      expect(shown("a".repeat(length))).toHaveLength(size);
    expect(qrRows("a".repeat(859))).toBeUndefined();
  });

  it("has a finder in three corners, timing lines, and the dark module", () => {
    const rows = shown("https://example.org");
    const size = rows.length;
    const finder = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"];
    const at = (x: number, y: number): readonly string[] => rows.slice(y, y + 7).map((row) => row.slice(x, x + 7));
    expect([at(0, 0), at(size - 7, 0), at(0, size - 7)]).toEqual([finder, finder, finder]);
    expect(rows[6]?.slice(8, size - 8)).toMatch(/^1(?:01)*$/u);
    expect(rows[size - 8]?.[8]).toBe("1");
  });

  // Read by an independent decoder when it was written, as all lengths above.
  it("is this one", () => {
    expect(shown("rookery")).toMatchInlineSnapshot(`
      [
        "111111101000101111111",
        "100000101010001000001",
        "101110100000101011101",
        "101110100000001011101",
        "101110101111101011101",
        "100000101101101000001",
        "111111101010101111111",
        "000000001000100000000",
        "111001101010011110011",
        "001010010111011001101",
        "000111100101110110001",
        "011111000101011101001",
        "110101111011111101011",
        "000000001100000111111",
        "111111100110001010001",
        "100000101010100011011",
        "101110100110001111001",
        "101110100001011110100",
        "101110101011110010011",
        "100000101011011101000",
        "111111101101111011001",
      ]
    `);
  });
});

/** The version, the mask and every module of these codes: a change of any of them is another code, which must be read again. */
it("of small and large texts stays as it is", () => {
  const hash = createHash("sha256");
  for (const length of [0, 40, 106, 180, 260, 367, 500, 640, 718, 858])
    hash.update(shown("a".repeat(length)).join("\n"));
  hash.update(shown("Grüße 東京 😀").join("\n"));
  expect(hash.digest("hex")).toBe("f2f2c7815d202a0650996af14af56fa99d3074325ebbd1a5e55c2ab0298af3b7");
});

describe("a reader that knows only the standard", () => {
  /** The most bytes of each version. */
  const most = [17, 32, 53, 78, 106, 134, 154, 192, 230, 271, 321, 367, 425, 458, 520, 586, 644, 718, 792, 858];

  it.each(most.map((bytes, n) => [n + 1, bytes] as const))("reads version %d with %d bytes", (version, bytes) => {
    const text = Array.from({ length: bytes }, (_, n) => String.fromCharCode(33 + ((n * 7 + version) % 90))).join("");
    const rows = qrRows(text) ?? [];
    expect(rows).toHaveLength(17 + 4 * version);
    expect(textOf(rows)).toBe(text);
  });

  it("reads every text, whichever mask it gets", () => {
    const masks = new Set<string>();
    for (let n = 0; n < 200; n++) {
      const text = createHash("sha256").update(String(n)).digest("base64").slice(0, 17);
      const rows = qrRows(text) ?? [];
      expect(textOf(rows)).toBe(text);
      masks.add((rows[8] ?? []).slice(0, 5).join());
    }
    expect(masks.size).toBe(8);
  });
});

describe("the mask of a code", () => {
  /** Three bits of the format, which has a mask of its own. */
  const maskOf = (text: string): number => Number.parseInt(shown(text)[8]?.slice(2, 5) ?? "", 2) ^ 0b101;

  it("is the one with the lowest penalty: another weight of runs or blocks, or another even share, chooses others", () => {
    const texts = Array.from({ length: 30 }, (_, n) => createHash("sha256").update(String(n)).digest("base64"));
    expect(texts.map((text) => maskOf(text.slice(0, 17))).join("")).toBe("474237272132212174732207337374");
  });

  it.each([
    ["uuuuuuuuuuuu37876", 4],
    ["xxxxxxxxxx46225", 2],
  ])("of %s is decided by the weight of an uneven share of dark modules", (text, mask) => {
    expect(maskOf(text)).toBe(mask);
  });
});
