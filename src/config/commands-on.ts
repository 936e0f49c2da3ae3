/** Whether commands such as /new are read from the texts of a channel. The engine itself reads none. */

/** Texts of programs go to the model as they are. */
const OFF_BY_DEFAULT: readonly string[] = ["api"];

export function commandsOn(configured: Readonly<Record<string, boolean>>, channel: string): boolean {
  const own = Object.hasOwn(configured, channel) ? configured[channel] : undefined;
  return own ?? !OFF_BY_DEFAULT.includes(channel);
}
