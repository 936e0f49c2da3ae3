/** Splits a text into parts a channel can carry: at a blank line, a line end or a space if there is one near the limit. */
export function splitText(text: string, limit: number): readonly string[] {
  // A part holds at least one character, which may take two UTF-16 units. With less, the loop would not end.
  const maxLength = Math.max(2, limit);
  const parts: string[] = [];
  let rest = text;
  while (rest.length > maxLength) {
    const cut = cutPlace(rest, maxLength);
    const part = rest.slice(0, cut).trimEnd();
    if (part !== "") parts.push(part);
    rest = rest.slice(cut).trimStart();
  }
  if (rest !== "" || parts.length === 0) parts.push(rest);
  return parts;
}

function cutPlace(text: string, maxLength: number): number {
  for (const separator of ["\n\n", "\n", " "]) {
    const place = text.lastIndexOf(separator, maxLength);
    if (place > maxLength / 2) return place;
  }
  // Never between the two UTF-16 units of one character.
  const code = text.charCodeAt(maxLength - 1);
  return code >= 0xd800 && code <= 0xdbff ? maxLength - 1 : maxLength;
}
