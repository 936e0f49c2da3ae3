/** Finds a name in a text: not as a part of a longer word. */

/** Linear in the text: each match moves the search on. */
export function hasWord(text: string, word: string): boolean {
  if (word === "") return false;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    if (!isNameSign(text[at - 1]) && !isNameSign(text[at + word.length])) return true;
  }
  return false;
}

const isNameSign = (sign: string | undefined): boolean => sign !== undefined && /[\p{L}\p{N}_]/u.test(sign);
