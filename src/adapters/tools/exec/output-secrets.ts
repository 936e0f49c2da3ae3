/** Where the values of secrets stand in an output. Texts here have one character for each byte. */

/** By name. */
export type SecretValues = Readonly<Record<string, string>>;

export interface Span {
  readonly begin: number;
  readonly end: number;
}

interface SecretSpan extends Span {
  readonly name: string;
}

/** A shorter value would hide half of every text. */
const MIN_LENGTH = 4;

/**
 * In order of their beginnings, the longest first: one secret may be a part of another. What no terminal shows, such as
 * colours, may stand in the middle of one. At the end of an output a secret may be written in part: more may follow.
 */
export function secretSpans(
  raw: string,
  unshown: RegExp,
  isEnd: boolean,
  secrets: SecretValues,
): readonly SecretSpan[] {
  const known = searchable(secrets);
  if (known.length === 0) return [];
  const { clean, places } = cleaned(raw, unshown);
  const spanOf = (begin: number, length: number): Span => ({
    begin: places[begin] as number,
    end: (places[begin + length - 1] as number) + 1,
  });
  return known
    .flatMap(({ name, value }) => {
      const begun = isEnd ? begunLength(clean, value) : 0;
      return [
        ...found(raw, value).map((begin) => ({ begin, end: begin + value.length })),
        ...found(clean, value).map((begin) => spanOf(begin, value.length)),
        ...(begun > 0 ? [spanOf(clean.length - begun, begun)] : []),
      ].map((span) => ({ ...span, name }));
    })
    .sort((a, b) => a.begin - b.begin || b.end - a.end);
}

/** What is shown, and where each of its characters stands. */
function cleaned(raw: string, unshown: RegExp): { readonly clean: string; readonly places: readonly number[] } {
  const places: number[] = [];
  let at = 0;
  const clean = raw.replace(unshown, "");
  const keepUntil = (end: number): void => {
    for (; at < end; at++) places.push(at);
  };
  for (const { 0: left, index } of raw.matchAll(unshown)) {
    keepUntil(index);
    at += left.length;
  }
  keepUntil(raw.length);
  return { clean, places };
}

/** The bytes of the longest value. */
export const longestSecret = (secrets: SecretValues): number =>
  Math.max(0, ...searchable(secrets).map(({ value }) => value.length));

const searchable = (secrets: SecretValues): readonly { readonly name: string; readonly value: string }[] =>
  Object.entries(secrets)
    .filter(([, value]) => value.length >= MIN_LENGTH)
    .map(([name, value]) => ({ name, value: Buffer.from(value).toString("latin1") }));

function found(text: string, value: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + value.length)) places.push(at);
  return places;
}

/** How much of the value stands at the end of the text; zero for less than what is looked for. */
function begunLength(text: string, value: string): number {
  for (let length = Math.min(value.length - 1, text.length); length >= MIN_LENGTH; length--) {
    if (text.endsWith(value.slice(0, length))) return length;
  }
  return 0;
}
