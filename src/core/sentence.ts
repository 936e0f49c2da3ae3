/** Texts that are put together: each sentence ends in one full stop. */

/** A cause that ends in a full stop, put before another one, leaves two. An ellipsis and a path stay as they are. */
export const oneStop = (text: string): string => text.replaceAll(/(?<=[^\s./\\])\.\.(?=\s|$)/gu, ".");

/** The text with an end of sentence. */
export const sentence = (text: string): string => {
  const whole = oneStop(text.trimEnd());
  return /[.!?:;…)\]}`]$/u.test(whole) || whole === "" ? whole : `${whole}.`;
};
