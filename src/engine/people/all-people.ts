/** The records of all people, read page by page. */
import type { PersonRecord } from "../../core/people/person-record.ts";
import type { StoreReader } from "../../core/store/store.ts";

const PAGE = 500;

export async function allPeople(store: Pick<StoreReader, "people">): Promise<readonly PersonRecord[]> {
  const people: PersonRecord[] = [];
  for (let page = await store.people({ limit: PAGE }); page.length > 0; ) {
    people.push(...page);
    page = page.length < PAGE ? [] : await store.people({ limit: PAGE, after: page.at(-1)?.id });
  }
  return people;
}
