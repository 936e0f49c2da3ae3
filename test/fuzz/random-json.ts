/** Makes malformed input from valid input: JSON with parts replaced, removed, added or repeated, and garbled bytes. */
import type { Random } from "./random.ts";

const ODD_TEXTS = [
  "",
  " ",
  "\0",
  "\ud800",
  "𝕏".repeat(50),
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "%00",
  "null",
  "<script>",
  "a".repeat(5_000),
  "\r\nX: y",
  "{{7*7}}",
  "🐦",
  "user",
  "system",
  "main",
];
const ODD_NUMBERS = [0, -0, -1, 1, 0.5, 1e21, -1e21, Number.MAX_SAFE_INTEGER, 2 ** 53, 1e308, 65_536];

export function anyValue(random: Random, depth = 0): unknown {
  const kind = random.below(depth > 4 ? 5 : 8);
  switch (kind) {
    case 0:
      return null;
    case 1:
      return random.below(2) === 0;
    case 2:
      return random.of(ODD_NUMBERS);
    case 3:
      return random.of(ODD_TEXTS);
    case 4:
      return random.text(40);
    case 5:
      return Array.from({ length: random.below(4) }, () => anyValue(random, depth + 1));
    case 6:
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [
          random.below(3) === 0 ? random.of(ODD_TEXTS) : random.text(8),
          anyValue(random, depth + 1),
        ]),
      );
    default: {
      let nested: unknown = random.text(3);
      for (let n = 0; n < random.below(60); n++) nested = random.below(2) === 0 ? [nested] : { x: nested };
      return nested;
    }
  }
}

/** The document with one to three random changes. */
export function spoilt(random: Random, document: unknown): unknown {
  let value = structuredClone(document);
  for (let n = 0; n <= random.below(3); n++) value = spoilOnce(random, value);
  return value;
}

function spoilOnce(random: Random, value: unknown): unknown {
  const places = placesOf(value);
  const place = random.of(places);
  if (place.length === 0) return anyValue(random);
  const parent = place.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], value) as Record<
    string,
    unknown
  >;
  const key = place.at(-1) as string;
  switch (random.below(4)) {
    case 0:
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete parent[key];
      break;
    case 1:
      if (Array.isArray(parent)) parent.push(parent[Number(key)]);
      else
        Object.defineProperty(parent, random.of(ODD_TEXTS), {
          value: anyValue(random),
          enumerable: true,
          configurable: true,
          writable: true,
        });
      break;
    default:
      parent[key] = anyValue(random);
  }
  return value;
}

function placesOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, child]) => placesOf(child, [...path, key]))];
}

/** The text as bytes: cut, doubled, or with bytes changed or inserted. */
export function garbled(random: Random, text: string): Buffer {
  const bytes = Buffer.from(text);
  switch (random.below(5)) {
    case 0:
      return bytes.subarray(0, random.below(bytes.length + 1));
    case 1:
      return Buffer.concat([bytes, bytes]);
    case 2:
      return Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)));
    case 3: {
      for (let n = 0; n < 1 + random.below(8) && bytes.length > 0; n++)
        bytes[random.below(bytes.length)] = random.below(256);
      return bytes;
    }
    default: {
      const at = random.below(bytes.length + 1);
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(random.of(['"', "{", "[", "\\", "\\u12", "//", "/*", "'", ",", ":", "NaN", "-"])),
        bytes.subarray(at),
      ]);
    }
  }
}
