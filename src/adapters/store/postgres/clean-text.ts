/** Text PostgreSQL can keep: no zero bytes, no halves of characters. Others are replaced as any decoder would. */
export function clean(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "\uFFFD") : whole;
}

export const cleanIfAny = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : clean(text);
