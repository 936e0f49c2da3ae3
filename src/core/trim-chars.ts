/** Trims given characters off a text in linear time: the pattern `/-+$/` reads a long run again from each of its letters (L14). */

/** `chars`: each of its characters is trimmed. */
export function trimCharsEnd(text: string, chars: string): string {
  let end = text.length;
  while (end > 0 && chars.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

export function trimChars(text: string, chars: string): string {
  let start = 0;
  while (start < text.length && chars.includes(text.charAt(start))) start++;
  return trimCharsEnd(text.slice(start), chars);
}
