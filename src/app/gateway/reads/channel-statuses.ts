/** The accounts on channels: those that run, and those of the configuration that do not. */
import type { Config } from "../../../config/config-schema.ts";
import { accountIdOf, kindOfAccount } from "../../../config/connector-kinds.ts";
import type { AccountStatus } from "../../../core/ports/connector.ts";
import type { Ports } from "../../../core/ports/ports.ts";

/** `channel`: the kind of a configured account, or the name of a connector of the program. */
export type ChannelStatus = AccountStatus & { readonly channel: string };

export function channelStatuses(
  connectors: Ports["connectors"],
  accounts: Config["connectors"],
): readonly ChannelStatus[] {
  const running = [...connectors].flatMap(([channel, connector]): readonly ChannelStatus[] => {
    const own = connector.accounts?.();
    if (own) return own.map((account) => ({ channel, ...account }));
    const health = connector.health();
    return [{ channel, name: channel, state: health.ok ? "running" : "failing", ...health }];
  });
  const configured = Object.entries(accounts).flatMap(([name, account]): readonly ChannelStatus[] => {
    const channel = kindOfAccount(name, account);
    if (channel === undefined || running.some((one) => one.name === name && one.channel === channel)) return [];
    const detail = account.enabled ? "no engine runs here" : "turned off in the configuration";
    return [{ channel, name, accountId: accountIdOf(name, channel), state: "off", ok: true, detail }];
  });
  return [...running, ...configured];
}
