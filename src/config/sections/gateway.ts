/** Where the gateway listens. Loopback unless somebody says otherwise. */
import { section, text, wholeNumber } from "../values.ts";

export const gatewayDefaults = { port: 7717, host: "127.0.0.1" } as const;

export const gatewaySchema = section({
  port: wholeNumber(1, 65_535).default(gatewayDefaults.port),
  host: text("a host name or an address to listen on").default(gatewayDefaults.host),
}).prefault({});
