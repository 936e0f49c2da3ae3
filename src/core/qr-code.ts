/**
 * A text as a QR code: byte mode, error correction L, versions 1 to 20 (858 bytes). Returns its rows without the quiet zone; undefined if the
 * text is longer. By ISO/IEC 18004.
 */

/** Error correction bytes of a block, and blocks, of versions 1 to 20 at level L. */
const CORRECTION = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28];
const BLOCKS = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8];

type Grid = (boolean | undefined)[][];

export function qrRows(text: string): readonly (readonly boolean[])[] | undefined {
  const data = new TextEncoder().encode(text);
  const version = BLOCKS.findIndex((_, n) => data.length <= dataBytes(n + 1) - (n + 1 < 10 ? 2 : 3)) + 1;
  if (version === 0) return undefined;
  const bits = interleaved(packed(data, version), version).flatMap((byte) => bitsOf(byte, 8));
  const masks = Array.from({ length: 8 }, (_, mask) => drawn(version, bits, mask));
  return masks.reduce((best, one) => (penalty(one) < penalty(best) ? one : best));
}

const sizeOf = (version: number): number => 17 + 4 * version;

/** Bytes of a version, data and correction together. */
function allBytes(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const aligned = Math.floor(version / 7) + 2;
    modules -= (25 * aligned - 10) * aligned - 55;
    if (version >= 7) modules -= 36;
  }
  return Math.floor(modules / 8);
}

const dataBytes = (version: number): number =>
  allBytes(version) - (CORRECTION[version - 1] ?? 0) * (BLOCKS[version - 1] ?? 0);

const bitsOf = (value: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, n) => (value >>> (count - 1 - n)) & 1);

/** The bytes of the text with their mode and length, filled up. */
function packed(data: Uint8Array, version: number): readonly number[] {
  const bytes = bytesOf([
    ...bitsOf(4, 4),
    ...bitsOf(data.length, version < 10 ? 8 : 16),
    ...[...data].flatMap((byte) => bitsOf(byte, 8)),
    // The end, which also fills the last byte.
    ...bitsOf(0, 4),
  ]);
  for (let fill = 0xec; bytes.length < dataBytes(version); fill ^= 0xec ^ 0x11) bytes.push(fill);
  return bytes;
}

const bytesOf = (bits: readonly number[]): number[] =>
  Array.from({ length: bits.length / 8 }, (_, n) =>
    bits.slice(n * 8, n * 8 + 8).reduce((byte, bit) => byte * 2 + bit, 0),
  );

/** A product in the field of 256 elements that the code uses. */
function product(a: number, b: number): number {
  let result = 0;
  for (let bit = 7; bit >= 0; bit--) {
    result = (result << 1) ^ ((result >>> 7) * 0x11d);
    result ^= ((b >>> bit) & 1) * a;
  }
  return result & 0xff;
}

function divisor(degree: number): readonly number[] {
  let result: number[] = [...Array.from({ length: degree - 1 }, () => 0), 1];
  let root = 1;
  for (let n = 0; n < degree; n++) {
    result = result.map((value, index) => product(value, root) ^ (result[index + 1] ?? 0));
    root = product(root, 2);
  }
  return result;
}

function correctionOf(data: readonly number[], by: readonly number[]): readonly number[] {
  let rest = by.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ (rest[0] ?? 0);
    rest = [...rest.slice(1), 0].map((value, index) => value ^ product(by[index] ?? 0, factor));
  }
  return rest;
}

/** Split into blocks with their correction, and read across them. */
function interleaved(data: readonly number[], version: number): readonly number[] {
  const [count, length] = [BLOCKS[version - 1] ?? 1, CORRECTION[version - 1] ?? 7];
  const short = Math.floor(data.length / count);
  const longs = data.length % count;
  const by = divisor(length);
  const blocks = Array.from({ length: count }, (_, n) => {
    const from = n * short + Math.max(0, n - (count - longs));
    return data.slice(from, from + short + (n >= count - longs ? 1 : 0));
  });
  const across = (rows: readonly (readonly number[])[], size: number): readonly number[] =>
    Array.from({ length: size }, (_, n) => rows.flatMap((row) => (n < row.length ? [row[n] ?? 0] : []))).flat();
  return [
    ...across(blocks, short + 1),
    ...across(
      blocks.map((block) => correctionOf(block, by)),
      length,
    ),
  ];
}

function alignments(version: number): readonly number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2;
  const rest = Array.from({ length: count - 1 }, (_, n) => sizeOf(version) - 7 - n * step);
  return [6, ...rest.toReversed()];
}

/** What every code of a version has, with the format of a mask. Undefined: a place for data. */
function frame(version: number, mask: number): Grid {
  const size = sizeOf(version);
  const grid: Grid = Array.from({ length: size }, () => Array.from({ length: size }, () => undefined));
  const set = (x: number, y: number, on: boolean): void => {
    const row = grid[y];
    if (row && x >= 0 && x < size) row[x] = on;
  };
  for (let n = 0; n < size; n++) {
    set(6, n, n % 2 === 0);
    set(n, 6, n % 2 === 0);
  }
  const ring = (x: number, y: number, radius: number, off: readonly number[]): void => {
    for (let dy = -radius; dy <= radius; dy++)
      for (let dx = -radius; dx <= radius; dx++)
        set(x + dx, y + dy, !off.includes(Math.max(Math.abs(dx), Math.abs(dy))));
  };
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    ring(x, y, 4, [2, 4]);
  const at = alignments(version);
  for (const x of at)
    for (const y of at) {
      const isFinder = (x === 6 && (y === 6 || y === size - 7)) || (y === 6 && x === size - 7);
      if (!isFinder) ring(x, y, 2, [1]);
    }
  drawFormat(set, size, mask);
  if (version >= 7) drawVersion(set, size, version);
  return grid;
}

type SetModule = (x: number, y: number, on: boolean) => void;

function drawFormat(set: SetModule, size: number, mask: number): void {
  // Level L is 1.
  const data = (1 << 3) | mask;
  let rest = data;
  for (let n = 0; n < 10; n++) rest = (rest << 1) ^ ((rest >>> 9) * 0x537);
  const bits = ((data << 10) | rest) ^ 0x5412;
  const bit = (n: number): boolean => ((bits >>> n) & 1) === 1;
  for (let n = 0; n <= 5; n++) set(8, n, bit(n));
  set(8, 7, bit(6));
  set(8, 8, bit(7));
  set(7, 8, bit(8));
  for (let n = 9; n < 15; n++) set(14 - n, 8, bit(n));
  for (let n = 0; n < 8; n++) set(size - 1 - n, 8, bit(n));
  for (let n = 8; n < 15; n++) set(8, size - 15 + n, bit(n));
  set(8, size - 8, true);
}

function drawVersion(set: SetModule, size: number, version: number): void {
  let rest = version;
  for (let n = 0; n < 12; n++) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25);
  const bits = (version << 12) | rest;
  for (let n = 0; n < 18; n++) {
    const on = ((bits >>> n) & 1) === 1;
    const [a, b] = [size - 11 + (n % 3), Math.floor(n / 3)];
    set(a, b, on);
    set(b, a, on);
  }
}

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

function drawn(version: number, bits: readonly number[], mask: number): readonly (readonly boolean[])[] {
  const grid = frame(version, mask);
  const size = grid.length;
  const flips = MASKS[mask] ?? (() => false);
  let next = 0;
  // Two columns at a time, from the right, up and down in turn.
  for (let right = size - 1, up = true; right >= 1; right -= 2, up = !up) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step++) {
      const row = grid[up ? size - 1 - step : step];
      for (const x of [right, right - 1]) {
        if (!row || row[x] !== undefined) continue;
        row[x] = (bits[next++] === 1) !== flips(x, up ? size - 1 - step : step);
      }
    }
  }
  return grid.map((row) => row.map((on) => on === true));
}

/** How hard a code is to read: runs, blocks, and an uneven share of dark modules. */
function penalty(grid: readonly (readonly boolean[])[]): number {
  const size = grid.length;
  let total = 0;
  let dark = 0;
  for (let a = 0; a < size; a++) {
    for (const at of [(b: number) => grid[a]?.[b], (b: number) => grid[b]?.[a]]) {
      for (let b = 0, run = 0; b < size; b++) {
        run = b > 0 && at(b) === at(b - 1) ? run + 1 : 1;
        if (run === 5) total += 3;
        else if (run > 5) total += 1;
      }
    }
    for (let b = 0; b < size; b++) {
      if (grid[a]?.[b]) dark += 1;
      const one = grid[a]?.[b];
      if (
        a + 1 < size &&
        b + 1 < size &&
        [grid[a]?.[b + 1], grid[a + 1]?.[b], grid[a + 1]?.[b + 1]].every((other) => other === one)
      )
        total += 3;
    }
  }
  return total + Math.floor(Math.abs((dark * 20) / (size * size) - 10)) * 10;
}
