/** A kind of connector that the configuration can name: what its accounts have in common, and how one is opened. */
import type { Secret } from "../../../config/secret.ts";
import type { ConnectorAccount } from "../../../config/sections/connectors.ts";
import type { Ids } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Connector } from "../../../core/ports/connector.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { Store } from "../../../core/store/store.ts";
import type { OptionalPackage } from "../packages/optional-package.ts";
import type { ChannelTraits } from "./supervise.ts";

export interface AccountToOpen {
  readonly name: string;
  readonly accountId?: string;
  readonly settings: ConnectorAccount;
  /** Where its platform calls the gateway: the public address and the account's path. Undefined if no public address is known. */
  readonly webhookUrl?: string;
  /** All accounts of this kind now, also this one: a platform may call one of them for all. */
  siblings?(): readonly Pick<AccountToOpen, "name" | "accountId" | "settings">[];
  /** Throws a `ConfigError` if the secret is missing. */
  reveal(secret: Secret): string;
  /** Loads an optional package of the home. Rejects with how to install it. */
  load(one: OptionalPackage): Promise<Readonly<Record<string, unknown>>>;
  readonly ports: { readonly clock: Clock; readonly log: Log; readonly store: Store; readonly ids: Ids };
}

/** What the table of channels in the docs says beyond the declared capabilities. */
export interface ChannelNotes {
  readonly title: string;
  /** What people see while a run works. */
  readonly drafts: string;
  /** What a thread is there; absent: there are none. */
  readonly threads?: string;
  /** What a crash can cost, coming in and going out. */
  readonly crash: { readonly in: string; readonly out: string };
}

export interface ConnectorKindDefinition {
  readonly notes: ChannelNotes;
  /** What must be installed into the home before an account can start. */
  readonly needs?: OptionalPackage;
  readonly traits: ChannelTraits;
  /** Loads what it needs. It may throw; then it is tried again later. */
  open(account: AccountToOpen): Promise<Connector>;
}
