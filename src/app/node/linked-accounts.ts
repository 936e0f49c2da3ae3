/**
 * Adds to the configuration in force what people have linked themselves: the owner's accounts, and for `dmScope: "per-peer"` the
 * accounts of every person, so that what they write from any of them is one conversation; and which conversations were carried
 * over from another scope. Other conversations keep their keys.
 */
import type { Config } from "../../config/config-schema.ts";
import type { CurrentSettings } from "../../config/settings.ts";
import { CarriedConversations } from "../../core/agent/carried-conversations.ts";
import type { IdentityLinks } from "../../core/agent/identity-links.ts";
import { CorruptDataError, errorText } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { readBook } from "../../engine/people/conversation-book.ts";
import type { Directory } from "../../engine/people/directory.ts";
import { linksOfPeople } from "../../engine/people/links-of-people.ts";
import { ownerAccounts } from "../../engine/people/owner-accounts.ts";

type AccountPorts = Pick<Ports, "store" | "log">;

interface LinkedAccounts {
  /** Puts a loaded configuration in force, with what is linked. Resolves when every part has followed it. */
  reload(next: Config, changed: readonly string[]): Promise<void>;
  /** Reads what is linked now, and puts it in force. */
  read(ports: AccountPorts): Promise<void>;
  /** Reads again whenever the records of people have changed. Returns how to stop. */
  follow(ports: AccountPorts, directory: Directory): () => void;
}

export function linkedAccounts(settings: CurrentSettings, initial: Config): LinkedAccounts {
  let base = initial;
  let owner: readonly string[] = [];
  let people: IdentityLinks = {};
  let carried: ReadonlyMap<string, string> = new Map();
  const read = async ({ store }: AccountPorts): Promise<void> => {
    owner = await ownerAccounts({ store } as Pick<Ports, "store">);
    carried = new Map(Object.entries((await readBook({ store })).carried));
    // Also at the start, before the first message: nobody has read the records of people by then.
    people = await linksOfPeople(store);
    settings.replace(withLinked(base, { owner, people, carried }));
  };
  return {
    reload(next, changed) {
      base = next;
      return settings.reload(withLinked(base, { owner, people, carried }), changed);
    },
    read,
    follow: (ports, directory) =>
      directory.onChanged(() =>
        read(ports).catch((error) => {
          ports.log.warn("linked accounts could not be read", { error: errorText(error) });
          // What is damaged stays so; a store that does not answer is asked again.
          if (!(error instanceof CorruptDataError)) throw error;
        }),
      ),
  };
}

interface Linked {
  readonly owner: readonly string[];
  readonly people: IdentityLinks;
  readonly carried: ReadonlyMap<string, string>;
}

function withLinked(config: Config, { owner, people, carried }: Linked): Config {
  const added = owner.filter((account) => !config.owner.accounts.includes(account));
  const links = config.session.dmScope === "per-peer" ? people : undefined;
  if (added.length === 0 && !links && carried.size === 0) return config;
  const { identityLinks } = config.session;
  return {
    ...config,
    owner: { ...config.owner, accounts: [...config.owner.accounts, ...added] },
    session: {
      ...config.session,
      // A link of the configuration with the same name wins.
      identityLinks: { ...links, ...identityLinks },
      carried: new CarriedConversations(carried, identityLinks),
    },
  };
}
