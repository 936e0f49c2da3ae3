/** Which addresses outgoing requests may reach that no configuration names: those of gates and of tools. */
import { list, section, text } from "../values.ts";

export const networkDefaults = { allowPrivate: [] as readonly string[] } as const;

export const networkSchema = section({
  /** Hosts, `host:port`, addresses and ranges that are not public. */
  allowPrivate: list(text('a host, "host:port", an address or a range such as "10.1.0.0/16"')).default(
    networkDefaults.allowPrivate,
  ),
}).prefault({});
