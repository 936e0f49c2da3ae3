/** The accounts of every person who has a record, as links: what a person writes from any of them belongs together. */
import type { IdentityLinks } from "../../core/agent/identity-links.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { allPeople } from "./all-people.ts";

export async function linksOfPeople(store: Pick<StoreReader, "people">): Promise<IdentityLinks> {
  const people = await allPeople(store);
  return Object.fromEntries(
    people.filter(({ accounts }) => accounts.length > 0).map(({ id, accounts }) => [id, accounts]),
  );
}
