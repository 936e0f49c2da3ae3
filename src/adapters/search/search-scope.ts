/** What a search may see: the conversations of a person, under every name the person has, and the notes of the person's directory. */
import type { PersonId } from "../../core/people/person.ts";
import type { SearchIndex, SearchRequest } from "../../core/search/search-index.ts";
import type { PeopleNow } from "../../engine/people/directory.ts";

export type SearchScope = Pick<SearchRequest, "people" | "notes">;

/** The ids under which the conversations of one person may be stored: accounts that were linked later keep theirs. */
export function namesOfPerson(now: Pick<PeopleNow, "personOf" | "record">, person: PersonId): readonly string[] {
  const id = now.personOf(person);
  return [...new Set([id, person, ...(now.record(id)?.accounts ?? [])])];
}

/** Searching on a node. Absent parts: nothing is indexed there. */
export interface MemorySearch {
  readonly index: SearchIndex;
  /** Directories with notes of a person. */
  notesOf(person: PersonId): readonly string[];
}
