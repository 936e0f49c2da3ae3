/**
 * The connectors of the configuration: one channel per kind, one account per entry of `connectors`. They are put among the
 * engine's connectors when the node starts, and follow the configuration while it runs.
 */
import { createHash } from "node:crypto";
import {
  type AccountsConnector,
  accountsConnector,
  type ChannelAccount,
} from "../../adapters/connectors/accounts/accounts-connector.ts";
import type { ConnectorKindDefinition } from "../../adapters/connectors/accounts/connector-kind.ts";
import { loadPackage } from "../../adapters/connectors/packages/load-package.ts";
import type { OptionalPackage } from "../../adapters/connectors/packages/optional-package.ts";
import { TELEGRAM } from "../../adapters/connectors/telegram/telegram-kind.ts";
import { bothWebhooks } from "../../adapters/connectors/webhook/both-webhooks.ts";
import { WEBHOOK } from "../../adapters/connectors/webhook/webhook-kind.ts";
import { WHATSAPP } from "../../adapters/connectors/whatsapp/whatsapp-kind.ts";
import { WHATSAPP_WEB } from "../../adapters/connectors/whatsapp-web/whatsapp-web-kind.ts";
import type { Config } from "../../config/config-schema.ts";
import { accountIdOf, CONNECTOR_KINDS, type ConnectorKind, kindOfAccount } from "../../config/connector-kinds.ts";
import { secretDeps } from "../../config/load-config.ts";
import { Secret } from "../../config/secret.ts";
import type { ConnectorAccount } from "../../config/sections/connectors.ts";
import type { Current } from "../../core/current.ts";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import { WEBHOOK_CHANNEL } from "../../core/delivery/route.ts";
import type { Ids } from "../../core/ids.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Store } from "../../core/store/store.ts";

/** Every kind that the configuration can name. */
export const KINDS: Readonly<Record<ConnectorKind, ConnectorKindDefinition>> = {
  telegram: TELEGRAM,
  whatsapp: WHATSAPP,
  "whatsapp-web": WHATSAPP_WEB,
  webhook: WEBHOOK,
};

interface ConfiguredDeps {
  readonly settings: Current<Config>;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ports: { readonly clock: Clock; readonly log: Log; readonly store: Store; readonly ids: Ids };
  once(connector: Connector): Connector;
  /** Whether this process keeps running: only then it connects. */
  readonly starts: boolean;
  /** The engine's connectors. Those of the configuration are added and removed here. */
  readonly connectors: Map<string, Connector>;
}

export interface ConfiguredConnectors {
  /** Before the engine starts its connectors. */
  add(): Promise<void>;
  /** After a reload: starts, replaces and stops accounts. */
  follow(hostOf: (connector: Connector) => ConnectorHost): Promise<void>;
}

export function configuredConnectors(deps: ConfiguredDeps): ConfiguredConnectors {
  const { connectors, ports, once, starts } = deps;
  const channels = new Map<ConnectorKind, AccountsConnector>();
  // Every node has the one to the addresses of mailboxes.
  const mailboxes = connectors.get(WEBHOOK_CHANNEL);
  const isMailbox = ({ accountId }: DeliveryContext): boolean =>
    accountId !== undefined && Object.hasOwn(deps.settings.current.mailbox.webhooks, accountId);
  const put = (kind: ConnectorKind, channel: AccountsConnector | undefined): void => {
    const beside = kind === WEBHOOK_CHANNEL ? mailboxes : undefined;
    const one = channel && beside ? bothWebhooks(channel, beside, isMailbox) : (channel ?? beside);
    if (one) connectors.set(kind, one);
    else connectors.delete(kind);
  };
  const replace = async (hostOf?: (connector: Connector) => ConnectorHost): Promise<void> => {
    for (const kind of CONNECTOR_KINDS) {
      const accounts = accountsOf(deps, kind);
      let channel = channels.get(kind);
      if (!channel && accounts.length === 0) continue;
      if (!channel && connectors.has(kind) && connectors.get(kind) !== mailboxes) {
        ports.log.warn("a connector of the program has the name of a channel in the configuration, which is not used", {
          kind,
        });
        continue;
      }
      const isNew = channel === undefined;
      channel ??= accountsConnector(kind, KINDS[kind].traits, { ...ports, once, starts });
      await channel.replace(accounts);
      if (accounts.length === 0) {
        channels.delete(kind);
        put(kind, undefined);
        await channel.stop();
        continue;
      }
      channels.set(kind, channel);
      put(kind, channel);
      if (isNew && hostOf) await channel.start(hostOf(channel));
    }
  };
  return { add: () => replace(), follow: (hostOf) => replace(hostOf) };
}

function accountsOf(deps: ConfiguredDeps, kind: ConnectorKind): readonly ChannelAccount[] {
  const { settings, home, env, ports } = deps;
  const siblings = () => entriesOf(settings.current, kind);
  const reveal = (secret: Secret): string => secret.reveal(secretDeps(home, env));
  const load = (one: OptionalPackage) => loadPackage(one, { home, env });
  const { gateway } = settings.current;
  return siblings().map(({ name, accountId, settings: own }): ChannelAccount => {
    const webhookUrl = own.webhook && webhookUrlOf(name, gateway.publicUrl);
    return {
      ...{ name, accountId, groupActivation: own.groups.activation },
      fingerprint: fingerprintOf({ ...own, webhookUrl } as ConnectorAccount, reveal),
      open: () => KINDS[kind].open({ name, accountId, settings: own, webhookUrl, siblings, reveal, load, ports }),
    };
  });
}

/** The enabled entries of a kind, as the configuration is now. */
const entriesOf = ({ connectors }: Pick<Config, "connectors">, kind: ConnectorKind) =>
  Object.entries(connectors).flatMap(([name, settings]) => {
    const isOn = kindOfAccount(name, settings) === kind && settings.enabled;
    return isOn ? [{ name, accountId: accountIdOf(name, kind), settings }] : [];
  });

/** The optional package that a kind of connector needs. */
export const packageOf = (kind: ConnectorKind): OptionalPackage | undefined => KINDS[kind].needs;

/** The optional packages that the accounts of a configuration need, each once. */
export function neededPackages({ connectors }: Pick<Config, "connectors">): readonly OptionalPackage[] {
  const needed = Object.entries(connectors).flatMap(([name, account]) => {
    const kind = account.enabled ? kindOfAccount(name, account) : undefined;
    return (kind && packageOf(kind)) ?? [];
  });
  return [...new Map(needed.map((one) => [one.name, one])).values()];
}

/** The account's path below a public address, which may have a path of its own. */
function webhookUrlOf(name: string, address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  const url = new URL(address);
  url.pathname = `${url.pathname.replace(/\/$/u, "")}/channels/${name}`;
  return url.href;
}

/** Settings with the same text are the same. A secret counts with its value, as a hash. */
function fingerprintOf(settings: ConnectorAccount, reveal: (secret: Secret) => string): string {
  const text = JSON.stringify(Object.entries(settings).map(([key, value]) => [key, secretsHashed(value, reveal)]));
  return createHash("sha256").update(text).digest("hex");
}

function secretsHashed(value: unknown, reveal: (secret: Secret) => string): unknown {
  if (value instanceof Secret) {
    try {
      return createHash("sha256").update(reveal(value)).digest("hex");
    } catch {
      return value.describe();
    }
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value).map(([key, child]) => [key, secretsHashed(child, reveal)]);
}
