/** Takes keys out of a text before anybody sees it: the ones we know, and whatever has the form of one. */
import { MASK } from "../../config/secret.ts";

const KEY_SHAPED = /\b(?:sk|pk|rk|gsk|xai|key)-[A-Za-z0-9_-]{8,}|\bAIza[\w-]{20,}|\bBearer\s+[\w.~+/-]{8,}=*/g;
const MIN_KNOWN = 4;

export function scrub(text: string, ...known: readonly (string | undefined)[]): string {
  let clean = text;
  for (const key of known) if (key && key.length >= MIN_KNOWN) clean = clean.replaceAll(key, MASK);
  return clean.replace(KEY_SHAPED, MASK);
}
