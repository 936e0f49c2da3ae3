/**
 * Reads QR codes from what a terminal or a browser shows. Written from the standard, without the encoder's code; its reading was compared
 * with another decoder's. It corrects no errors: one wrong module is enough to fail.
 */
import sharp from "sharp";
import type { TestTerminal } from "./terminal.ts";

type Modules = readonly (readonly boolean[])[];

const WHITE = 15;
const BLACK = 0;

/** The text of the last code on the screen; undefined if there is none that is whole. */
export function qrInTerminal({ terminal }: Pick<TestTerminal, "terminal">): string | undefined {
  const { active } = terminal.buffer;
  const lines = Array.from({ length: active.length }, (_, y) => active.getLine(y));
  const isCode = lines.map((line) => /^[█▀▄ ]{25,}$/u.test(line?.translateToString(true) ?? ""));
  const end = isCode.lastIndexOf(true);
  const start = isCode.lastIndexOf(false, end) + 1;
  if (end < 0) return undefined;
  const width = lines[start]?.translateToString(true).length ?? 0;
  let hasColours = true;
  // A half of a cell has the colour of the letter if that is drawn there, else the colour behind it.
  const dark = lines.slice(start, end + 1).flatMap((line) => {
    const cells = Array.from({ length: width }, (_, x) => line?.getCell(x));
    const half = (drawn: string): boolean[] =>
      cells.map((cell) => {
        const colour = drawn.includes(cell?.getChars() || " ") ? cell?.getFgColor() : cell?.getBgColor();
        hasColours &&= colour === WHITE || colour === BLACK;
        return colour === BLACK;
      });
    return [half("█▀"), half("█▄")];
  });
  // Colours of the terminal's own: a code that is not whole yet, or one that is not drawn as it should be.
  return hasColours ? textOf(cropped(dark)) : undefined;
}

/** The text of the code in a picture that shows it upright; undefined if there is none. */
export async function qrInPicture(png: Buffer): Promise<string | undefined> {
  const { data, info } = await sharp(png).greyscale().raw().toBuffer({ resolveWithObject: true });
  const isDark = (x: number, y: number): boolean => (data[(y * info.width + x) * info.channels] ?? 255) < 128;
  const pixels = Array.from({ length: info.height }, (_, y) =>
    Array.from({ length: info.width }, (_, x) => isDark(x, y)),
  );
  const code = cropped(pixels);
  // The upper left finder begins with seven dark modules. The first line of pixels may be a mixture.
  const scale = (code[1]?.indexOf(false, 2) ?? 0) / 7;
  const size = 17 + 4 * Math.round(((code[0]?.length ?? 0) / scale - 17) / 4);
  const wide = (code[0]?.length ?? 0) / size;
  const at = (n: number): number => Math.floor((n + 0.5) * wide);
  return textOf(
    Array.from({ length: size }, (_, y) => Array.from({ length: size }, (_, x) => code[at(y)]?.[at(x)] === true)),
  );
}

/** Without the light around it. */
function cropped(dark: Modules): Modules {
  const rows = dark.flatMap((row, y) => (row.includes(true) ? [y] : []));
  const lefts = rows.map((y) => dark[y]?.indexOf(true) ?? 0);
  const rights = rows.map((y) => dark[y]?.lastIndexOf(true) ?? 0);
  const [left, right] = [Math.min(...lefts), Math.max(...rights)];
  return dark.slice(rows[0] ?? 0, (rows.at(-1) ?? -1) + 1).map((row) => row.slice(left, right + 1));
}

/** Error correction of level L, by version from 1: codewords of a block, and blocks. */
const LEVEL_L = [
  ...([
    [7, 1],
    [10, 1],
    [15, 1],
    [20, 1],
    [26, 1],
    [18, 2],
    [20, 2],
    [24, 2],
    [30, 2],
    [18, 4],
  ] as const),
  ...([
    [20, 4],
    [24, 4],
    [26, 4],
    [30, 4],
    [22, 6],
    [24, 6],
    [28, 6],
    [30, 6],
    [28, 7],
    [28, 8],
  ] as const),
] as const;
const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The text of a code, by its modules without the light around them. */
export function textOf(dark: Modules): string | undefined {
  const size = dark.length;
  const version = (size - 17) / 4;
  if (!Number.isInteger(version) || version < 1 || version > LEVEL_L.length || dark[0]?.length !== size)
    return undefined;
  const on = (x: number, y: number): number => (dark[y]?.[x] ? 1 : 0);
  // The first five of the fifteen bits of the format: the level, and which mask was used.
  const format = Array.from({ length: 5 }, (_, n) => on(n, 8)).reduce((bits, bit) => bits * 2 + bit, 0) ^ 0b10101;
  const mask = MASKS[format & 7];
  if (format >> 3 !== 1 || !mask) return undefined;
  const isFunction = functionModules(version, size);
  const bits: number[] = [];
  for (let right = size - 1, upward = true; right > 0; right -= 2, upward = !upward) {
    if (right === 6) right = 5;
    for (let n = 0; n < size; n++) {
      const y = upward ? size - 1 - n : n;
      for (const x of [right, right - 1]) if (!isFunction(x, y)) bits.push(on(x, y) ^ (mask(x, y) ? 1 : 0));
    }
  }
  const words = Array.from({ length: Math.floor(bits.length / 8) }, (_, n) =>
    bits.slice(n * 8, n * 8 + 8).reduce((word, bit) => word * 2 + bit, 0),
  );
  return messageIn(dataIn(words, version), version);
}

/** The data of the blocks one after the other: in the code their codewords alternate, and the longer blocks come last. */
function dataIn(words: readonly number[], version: number): readonly number[] {
  const [correction, blocks] = LEVEL_L[version - 1] ?? [0, 1];
  const total = words.length - correction * blocks;
  const short = Math.floor(total / blocks);
  const longer = total % blocks;
  return Array.from({ length: blocks }, (_, block) => {
    const last = block - (blocks - longer);
    const own = Array.from({ length: short }, (_, n) => words[n * blocks + block] ?? 0);
    return last >= 0 ? [...own, words[short * blocks + last] ?? 0] : own;
  }).flat();
}

/** One segment of bytes. */
function messageIn(data: readonly number[], version: number): string | undefined {
  const nibbles = data.flatMap((word) => [word >> 4, word & 15]);
  if (nibbles[0] !== 4) return undefined;
  const counted = version < 10 ? 2 : 4;
  const length = nibbles.slice(1, 1 + counted).reduce((sum, nibble) => sum * 16 + nibble, 0);
  const bytes = Array.from({ length }, (_, n) => {
    const at = 1 + counted + n * 2;
    return (nibbles[at] ?? 0) * 16 + (nibbles[at + 1] ?? 0);
  });
  return Buffer.from(bytes).toString("utf8");
}

/** Modules that carry no data: finders with the format beside them, timing, alignment, the version. */
function functionModules(version: number, size: number): (x: number, y: number) => boolean {
  const centres = alignmentOf(version, size);
  const isAligned = (x: number, y: number): boolean =>
    centres.some((cx) =>
      centres.some((cy) => {
        const isFinder = (cx === 6 && cy === 6) || (cx === 6 && cy === size - 7) || (cx === size - 7 && cy === 6);
        return !isFinder && Math.abs(x - cx) <= 2 && Math.abs(y - cy) <= 2;
      }),
    );
  return (x, y) =>
    (x <= 8 && (y <= 8 || y >= size - 8)) ||
    (x >= size - 8 && y <= 8) ||
    x === 6 ||
    y === 6 ||
    (version >= 7 && ((x < 6 && y >= size - 11) || (y < 6 && x >= size - 11))) ||
    isAligned(x, y);
}

function alignmentOf(version: number, size: number): readonly number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((size - 13) / (count * 2 - 2)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, n) => size - 7 - n * step)];
}
