/**
 * The one place where text from outside becomes text for the screen. Everything that models, tools, people and the engine say
 * passes here: a view takes `CleanText` only, so that no escape code of someone else reaches the terminal.
 */

declare const brand: unique symbol;
export type CleanText = string & { readonly [brand]: "clean" };

/** Every control but the line end; direction marks and tags, which make a text look like another one. */
const CONTROLS = /[^\P{Cc}\n]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
/** More marks than any language stacks on one letter. */
const STACKED = /(\p{M}{6})\p{M}+/gu;

export function clean(text: string): CleanText {
  return withoutSequences(text)
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/gu, "\n")
    .replaceAll("\t", "    ")
    .replaceAll(CONTROLS, "")
    .replaceAll(STACKED, "$1") as CleanText;
}

const ESCAPE = 0x1b;
const CSI = 0x9b;
/** ST, BEL: the ends of a string. */
const ENDS: ReadonlySet<number> = new Set([0x9c, 0x07]);
/** DCS, SOS, OSC, PM, APC: strings, as C1 codes and as the letter behind an escape. */
const STRINGS: ReadonlySet<number> = new Set([0x90, 0x98, 0x9d, 0x9e, 0x9f]);

/** Without whole escape sequences: the text of a title or a picture is not shown either. Each character is looked at twice at most. */
function withoutSequences(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== ESCAPE && (code < 0x80 || code > 0x9f)) continue;
    kept.push(text.slice(from, at));
    from = endOfSequence(text, at, code);
    at = from - 1;
  }
  kept.push(text.slice(from));
  return kept.join("");
}

/** The position behind a sequence. One without an end is only its introduction. */
function endOfSequence(text: string, at: number, code: number): number {
  const next = text.charCodeAt(at + 1);
  const isEscape = code === ESCAPE;
  const kind = isEscape && next >= 0x40 && next <= 0x5f ? next + 0x40 : code;
  const begins = at + (isEscape ? 2 : 1);
  if (kind === CSI) return endOfCsi(text, begins);
  if (STRINGS.has(kind)) return endOfString(text, begins);
  if (!isEscape || !(next >= 0x20 && next <= 0x7e)) return at + 1;
  return next < 0x30 ? Math.min(at + 3, text.length) : at + 2;
}

function endOfCsi(text: string, begins: number): number {
  let at = begins;
  while (at < text.length && text.charCodeAt(at) >= 0x20 && text.charCodeAt(at) < 0x40) at += 1;
  const last = text.charCodeAt(at);
  return last >= 0x40 && last <= 0x7e ? at + 1 : at;
}

function endOfString(text: string, begins: number): number {
  for (let at = begins; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (ENDS.has(code)) return at + 1;
    if (code === ESCAPE && text[at + 1] === "\\") return at + 2;
    if (code === ESCAPE || code === 0x0a) return begins;
  }
  return begins;
}

/** In one line of at most `max` characters. */
export function cleanLine(text: string, max = 200): CleanText {
  const line = clean(text.slice(0, max * 8))
    .replaceAll(/\s+/gu, " ")
    .trim();
  return (line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`) as CleanText;
}
