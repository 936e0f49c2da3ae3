/**
 * The numbers whose events come to one address. An app at Meta has one address for all its numbers, so the account that is called may get
 * the events of others; they are taken for the account they belong to. Only accounts with the same app secret: the signature is theirs too.
 */
import type { ConnectorAccount } from "../../../config/sections/connectors.ts";
import type { ConnectorHost } from "../../../core/ports/connector.ts";
import type { AccountToOpen } from "../accounts/connector-kind.ts";
import { groupWindow } from "../chat/group-window.ts";
import type { TakeIn } from "../chat/take-in.ts";
import { type GraphApi, graphApi } from "./graph-api.ts";
import { WHATSAPP_CHANNEL } from "./whatsapp-kind.ts";

export interface NumberOf {
  readonly api: GraphApi;
  readonly accountId?: string;
  readonly settings: ConnectorAccount;
  takeIn(host: ConnectorHost, ourNumber: string): TakeIn;
}

interface Numbers {
  readonly own: NumberOf;
  /** Undefined: no account has this number. Throws a `ConfigError` if its secret is missing. */
  find(phoneNumberId: string): NumberOf | undefined;
}

type Account = Pick<AccountToOpen, "name" | "accountId" | "settings">;

export function numbersOf({
  appSecret,
  reveal,
  siblings,
  ...account
}: Account & Pick<AccountToOpen, "reveal" | "siblings"> & { readonly appSecret: string }): Numbers {
  const tokenOf = ({ token }: ConnectorAccount): string => (token ? reveal(token) : "");
  /** Secrets have no text in JSON, so the token is compared as such. */
  const fingerprintOf = (settings: ConnectorAccount): string => JSON.stringify([settings, tokenOf(settings)]);
  const open = ({ accountId, settings }: Account): NumberOf => {
    const { phoneNumberId = "", apiRoot, groups, linkPreviews } = settings;
    const api = graphApi({ token: tokenOf(settings), phoneNumberId, apiRoot, linkPreviews });
    const window = groupWindow();
    return {
      ...{ api, accountId, settings },
      takeIn: (host, ourNumber) => ({
        ...{ channel: WHATSAPP_CHANNEL, host, accountId, activation: groups.activation, window },
        self: { userId: ourNumber, names: ourNumber === "" ? [] : [ourNumber] },
        fetching: {
          files: host.files,
          download: ({ fileId }, limit) => api.download(fileId, limit),
        },
      }),
    };
  };
  const own = open(account);
  const others = new Map<string, { readonly fingerprint: string; readonly number: NumberOf }>();
  return {
    own,
    find(phoneNumberId) {
      if (phoneNumberId === account.settings.phoneNumberId) return own;
      const one = siblings?.().find(({ settings }) => settings.phoneNumberId === phoneNumberId);
      if (!one?.settings.appSecret || reveal(one.settings.appSecret) !== appSecret) return undefined;
      const known = others.get(phoneNumberId);
      const fingerprint = fingerprintOf(one.settings);
      if (known?.fingerprint === fingerprint) return known.number;
      const number = open(one);
      others.set(phoneNumberId, { fingerprint, number });
      return number;
    },
  };
}
