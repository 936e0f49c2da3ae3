/** Text that PostgreSQL can store: zero bytes and lone surrogates are replaced by U+FFFD, as a decoder does. */
export function clean(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "\uFFFD") : whole;
}

export const cleanIfAny = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : clean(text);
