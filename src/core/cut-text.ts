/** Cuts a text at a place where no character that a person sees is broken: between two grapheme clusters. */

/** A longer cluster is cut between two code points: only a made-up one is that long. */
const MAX_CLUSTER = 64;

let segmenter: Intl.Segmenter | undefined;

/** At most `max` UTF-16 units of the text. The cost does not depend on the length of the text. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, cutPlace(text, Math.max(0, max)));
}

function cutPlace(text: string, max: number): number {
  segmenter ??= new Intl.Segmenter();
  const from = Math.max(0, max - MAX_CLUSTER);
  const segments = segmenter.segment(text.slice(from, max + MAX_CLUSTER));
  const place = from + (segments.containing(max - from)?.index ?? 0);
  if (place > from) return place;
  return isLowSurrogate(text, max) ? max - 1 : max;
}

const isLowSurrogate = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
};

/** The text, or its beginning and an ellipsis: at most `max` UTF-16 units in all. */
export const shortened = (text: string, max: number): string =>
  text.length <= max ? text : `${cutText(text, max - 1).trimEnd()}…`;
