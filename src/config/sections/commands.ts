/** The section about commands such as /new in the texts of channels. */
import { flag, named, section } from "../values.ts";

export const commandDefaults = { enabled: true } as const;

export const commandsSchema = section({
  enabled: flag().default(commandDefaults.enabled),
  byChannel: named(flag()).prefault({}),
}).prefault({});
