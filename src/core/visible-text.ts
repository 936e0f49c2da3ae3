/**
 * Text of others as a person can check it: what is invisible, changes the direction of writing or only looks like a space is shown as
 * its code point, `<U+202E>`. The same text twice is the same text, so every surface may call it. The cost is linear.
 */

/**
 * Controls, format characters, unassigned and private ones; separators other than the space; characters that are drawn as nothing;
 * letters that are written from right to left, because they reorder the text around them; the fourth mark on one letter.
 */
const HIDDEN =
  /[^\P{C}\n\t]|[^\P{Z} ]|\p{Default_Ignorable_Code_Point}|\u2800|[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]|(?<=\p{M}{3})\p{M}/gu;
/** Longer than any indent. */
const SPACES = /[ \t]{41,}/gu;
const EMPTY_LINES = /\n(?:[ \t]{0,40}\n){3,}/gu;

export const visibleText = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replace(HIDDEN, escaped)
    .replace(SPACES, (spaces) => `<${spaces.length} spaces>`)
    .replace(EMPTY_LINES, (lines) => `\n<${lines.split("\n").length - 2} empty lines>\n`);

/** In one line. */
export const visibleLine = (text: string): string => visibleText(text).replace(/[\n\t]/gu, escaped);

const escaped = (char: string): string =>
  `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
