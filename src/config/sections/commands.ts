/** Whether commands such as /new are read from the texts of a channel. The engine itself reads none. */
import { flag, named, section } from "../values.ts";

export const commandDefaults = { enabled: true } as const;

/** Texts of programs go to the model as they are. */
const OFF_BY_DEFAULT: readonly string[] = ["api"];

export const commandsSchema = section({
  enabled: flag().default(commandDefaults.enabled),
  byChannel: named(flag()).prefault({}),
}).prefault({});

export function commandsOn(
  { enabled, byChannel }: { readonly enabled: boolean; readonly byChannel: Readonly<Record<string, boolean>> },
  channel: string,
): boolean {
  const own = Object.hasOwn(byChannel, channel) ? byChannel[channel] : undefined;
  return own ?? (enabled && !OFF_BY_DEFAULT.includes(channel));
}
