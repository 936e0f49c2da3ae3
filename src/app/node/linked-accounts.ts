/**
 * Adds to the configuration in force what people have linked themselves: the owner's accounts, and for `dmScope: "per-peer"` the
 * accounts of every person, so that what they write from any of them is one conversation. Other conversations keep their keys.
 */
import type { Config } from "../../config/config-schema.ts";
import { errorText } from "../../core/errors.ts";
import type { PersonRecord } from "../../core/people/person.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Directory } from "../../engine/people/directory.ts";
import { ownerAccounts } from "../../engine/people/owner-accounts.ts";
import type { LiveConfig } from "./live-config.ts";

type AccountPorts = Pick<Ports, "store" | "log">;

export interface LinkedAccounts {
  /** Puts another configuration in force, with what is linked. */
  replace(next: Config): void;
  /** Reads what is linked now, and puts it in force. */
  read(ports: AccountPorts): Promise<void>;
  /** Reads again whenever the records of people have changed. Returns how to stop. */
  follow(ports: AccountPorts, directory: Directory): () => void;
}

export function linkedAccounts(live: LiveConfig, initial: Config): LinkedAccounts {
  let base = initial;
  let owner: readonly string[] = [];
  let people: readonly PersonRecord[] = [];
  const apply = (): void => live.replace(withLinked(base, owner, people));
  const read = async ({ store }: AccountPorts): Promise<void> => {
    owner = await ownerAccounts({ store } as Pick<Ports, "store">);
    apply();
  };
  return {
    replace(next) {
      base = next;
      apply();
    },
    read,
    follow: (ports, directory) =>
      directory.onChanged((records) => {
        people = records;
        read(ports).catch((error) => ports.log.warn("linked accounts could not be read", { error: errorText(error) }));
      }),
  };
}

function withLinked(config: Config, owner: readonly string[], people: readonly PersonRecord[]): Config {
  const added = owner.filter((account) => !config.owner.accounts.includes(account));
  const links = config.session.dmScope === "per-peer" ? linksOf(config, people) : undefined;
  if (added.length === 0 && !links) return config;
  return {
    ...config,
    owner: { ...config.owner, accounts: [...config.owner.accounts, ...added] },
    session: links
      ? { ...config.session, identityLinks: { ...links, ...config.session.identityLinks } }
      : config.session,
  };
}

/** A link of the configuration with the same name wins. */
const linksOf = ({ session }: Config, people: readonly PersonRecord[]): Config["session"]["identityLinks"] =>
  Object.fromEntries(
    people
      .filter(({ id, accounts }) => accounts.length > 0 && !Object.hasOwn(session.identityLinks, id))
      .map(({ id, accounts }) => [id, accounts]),
  );
