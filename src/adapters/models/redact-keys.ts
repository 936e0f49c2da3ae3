/** Masks keys in a text: the given ones, and everything that looks like a key. */
import { MASK } from "../../config/secret.ts";

const KEY_SHAPED = /\b(?:sk|pk|rk|gsk|xai|key)-[A-Za-z0-9_-]{8,}|\bAIza[\w-]{20,}|\bBearer\s+[\w.~+/-]{8,}=*/g;
const MIN_LENGTH = 4;

export function redactKeys(text: string, ...known: readonly (string | undefined)[]): string {
  let clean = text;
  for (const key of known) if (key && key.length >= MIN_LENGTH) clean = clean.replaceAll(key, MASK);
  return clean.replace(KEY_SHAPED, MASK);
}
