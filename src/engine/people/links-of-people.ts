/** The accounts of every person who has a record, as links: what a person writes from any of them belongs together. */
import type { IdentityLinks } from "../../core/agent/identity-links.ts";
import type { PersonRecord } from "../../core/people/person.ts";
import type { StoreReader } from "../../core/store/store.ts";

const PAGE = 500;

export async function linksOfPeople(store: Pick<StoreReader, "people">): Promise<IdentityLinks> {
  const people: PersonRecord[] = [];
  for (let page = await store.people({ limit: PAGE }); page.length > 0; ) {
    people.push(...page);
    page = page.length < PAGE ? [] : await store.people({ limit: PAGE, after: page.at(-1)?.id });
  }
  return Object.fromEntries(
    people.filter(({ accounts }) => accounts.length > 0).map(({ id, accounts }) => [id, accounts]),
  );
}
