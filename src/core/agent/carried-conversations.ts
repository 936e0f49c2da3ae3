/** What a running engine knows about conversations besides the file of the configuration. */
import type { IdentityLinks } from "./identity-links.ts";

export class CarriedConversations {
  /** The key by the scope in force → the key of the earlier conversation that goes on under it. */
  readonly keys: ReadonlyMap<string, string>;
  /** The links of the file alone, without those that people have made themselves. */
  readonly configuredLinks: IdentityLinks;

  constructor(keys: ReadonlyMap<string, string>, configuredLinks: IdentityLinks) {
    this.keys = keys;
    this.configuredLinks = configuredLinks;
  }

  /** It is not part of the configuration that people see. */
  toJSON(): undefined {
    return undefined;
  }
}
