/**
 * Dedupe keys of forgotten people: a digest takes the place of the key, which names a chat. A message that a channel delivers once more
 * is still recognised until the key's horizon (M5).
 */
/** No key begins like this: keys are JSON, or words with a colon. */
const MARK = "#";

export function forgottenKey(key: string): string {
  if (key.startsWith(MARK)) return key;
  // Loaded here: commands that only read need no digest.
  return MARK + process.getBuiltinModule("node:crypto").hash("sha256", key, "hex");
}

/** The first and the last key of this form. */
export const FORGOTTEN_KEYS = [MARK, "$"] as const;

/** In the place of a reply that told about a forgotten person: the request is known, and is not executed again (M18). */
export const FORGOTTEN_REPLY = JSON.stringify({
  status: 410,
  json: { error: { code: "gone", message: "The person whom this answer was about is forgotten.", type: "gone" } },
});
