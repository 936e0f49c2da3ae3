/** The word by which an agent says that nobody needs an answer. */
export const SILENT_REPLY_TOKEN = "NO_REPLY";

/** Silent where the word opens the text (and is not part of a longer word) or closes it. */
export function isSilentReply(text: string): boolean {
  const trimmed = text.trim();
  return /^NO_REPLY(?!\w)/u.test(trimmed) || /(?<!\w)NO_REPLY$/u.test(trimmed);
}
