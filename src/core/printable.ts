/** Makes text from outside safe for a terminal: no control characters, no marks that turn the reading direction around. */

/** All control characters but tab and line feed, line separators, marks of direction, halves of surrogate pairs. */
const UNSAFE = /[^\P{Cc}\n\t]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]|\p{Cs}/gu;

export const printable = (text: string): string => text.replaceAll("\r\n", "\n").replace(UNSAFE, "�");

/** JSON text with the same characters as escapes: the same value, safe for a terminal. */
export const printableJson = (json: string): string => json.replace(UNSAFE, escaped);

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
