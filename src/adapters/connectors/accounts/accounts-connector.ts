/**
 * A channel with any number of accounts: one connector for the engine, which gives each delivery to the account of its address.
 * Accounts come and go while the engine runs, and none of them affects another.
 */
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { AccountStatus, Connector, ConnectorHost } from "../../../core/ports/connector.ts";
import type { Log } from "../../../core/ports/log.ts";
import { type ChannelTraits, type Supervised, supervise, WAIT_FOR_START_MS } from "./supervise.ts";

export interface ChannelAccount {
  /** Its name in the configuration. */
  readonly name: string;
  /** As in addresses; undefined for the account that is called like its kind. */
  readonly accountId?: string;
  /** An account whose settings differ has another one. */
  readonly fingerprint: string;
  /** When its groups are answered. */
  readonly groupActivation?: "mention" | "always";
  open(): Promise<Connector>;
}

interface AccountsDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Makes a connector run on one node at a time. */
  once(connector: Connector): Connector;
  /** False: the accounts are known and not started. */
  readonly starts: boolean;
}

export interface AccountsConnector extends Connector {
  /** Starts, replaces and stops accounts so that these are the ones that run. */
  replace(accounts: readonly ChannelAccount[]): Promise<void>;
}

interface Running {
  readonly account: ChannelAccount;
  readonly supervised: Supervised;
  readonly connector: Connector;
}

const keyOf = (accountId: string | undefined): string => accountId ?? "";

export function accountsConnector(channel: string, traits: ChannelTraits, deps: AccountsDeps): AccountsConnector {
  const running = new Map<string, Running>();
  let host: ConnectorHost | undefined;
  let changing: Promise<void> = Promise.resolve();
  const at = ({ accountId }: DeliveryContext): Connector | undefined => running.get(keyOf(accountId))?.connector;

  const begin = (account: ChannelAccount): Running => {
    const supervised = supervise(`${channel}/${account.name}`, traits, () => account.open(), deps);
    const connector = deps.once(supervised);
    const one = { account, supervised, connector };
    running.set(keyOf(account.accountId), one);
    return one;
  };
  const start = async ({ connector }: Running): Promise<void> => {
    if (host && deps.starts) await connector.start(host);
  };
  const end = async (key: string): Promise<void> => {
    const one = running.get(key);
    running.delete(key);
    await one?.connector.stop();
  };
  const statusOf = ({ account, supervised, connector }: Running): AccountStatus => {
    const remote = deps.starts && connector.isRemote?.() === true;
    const state = deps.starts ? (remote ? "elsewhere" : supervised.state()) : "off";
    const { name, accountId } = account;
    return { name, accountId, state, ...(remote ? connector.health() : supervised.health()) };
  };

  return {
    name: channel,
    ...traits,
    isRemote: (target) => (target === undefined ? false : (at(target)?.isRemote?.() ?? false)),
    admit: (target) => (deps.starts ? at(target)?.admit?.(target) : undefined) ?? WAIT_FOR_START_MS,
    groupActivation: ({ accountId }) => running.get(keyOf(accountId))?.account.groupActivation,
    accounts: () => [...running.values()].map(statusOf),
    async start(given) {
      host = given;
      await Promise.all([...running.values()].map(start));
    },
    async stop() {
      host = undefined;
      await changing;
      await Promise.all([...running.values()].map(({ connector }) => connector.stop()));
    },
    health() {
      const all = [...running.values()].map(statusOf);
      const bad = all.filter(({ ok }) => !ok);
      const detail =
        bad.length > 0 ? bad.map(({ name, detail: why }) => `${name}: ${why}`).join("; ") : `${all.length} accounts`;
      return { ok: bad.length === 0, detail };
    },
    replace(accounts) {
      changing = changing.then(async () => {
        const wanted = new Map(accounts.map((account) => [keyOf(account.accountId), account]));
        for (const [key, { account }] of [...running]) {
          if (wanted.get(key)?.fingerprint !== account.fingerprint) await end(key);
        }
        const fresh = [...wanted].filter(([key]) => !running.has(key)).map(([, account]) => begin(account));
        await Promise.all(fresh.map(start));
      });
      return changing;
    },
    send: async (delivery, signal) =>
      at(delivery.target)?.send(delivery, signal) ?? {
        status: "retry",
        reason: `There is no account "${delivery.target.accountId ?? channel}" in the configuration.`,
      },
    receive: async (request, given) =>
      [...running.values()]
        .find(({ account }) => account.name === request.account)
        ?.supervised.receive?.(request, given),
    view: (target, run) => at(target)?.view?.(target, run),
    lookup: async (delivery) => at(delivery.target)?.lookup?.(delivery) ?? "unknown",
  };
}
