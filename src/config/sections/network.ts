/** Which addresses outgoing requests may reach that no configuration names: those of gates and of tools. */
import { list, section, text } from "../values.ts";

export const networkDefaults = { allowPrivate: [] as readonly string[] } as const;

export const networkSchema = section({
  allowPrivate: list(text('a host, "host:port", an address or a range such as "10.1.0.0/16"'))
    .default(networkDefaults.allowPrivate)
    .describe(
      "addresses that are not public and may be reached: hosts (`nas`, `localhost:8080`), addresses, ranges (`10.1.0.0/16`)",
    ),
})
  .prefault({})
  .meta({ description: "requests to addresses that an agent or a gate names", page: "web.md" });
