/** What to say about a name that does not exist: the closest one that does. */
import { closestWord } from "./closest-word.ts";

const MAX_SHOWN = 64;
const MAX_LISTED = 12;

/** `There is no profile "wrok". Did you mean "work"?`, or the known names if none is close. */
export function unknownName(what: string, name: string, known: Iterable<string>): string {
  return `There is no ${what} "${name.slice(0, MAX_SHOWN)}".${suggestName(name, known)}`;
}

/** ` Did you mean "work"?`, or the known names if none is close; empty if they are too many. */
export function suggestName(name: string, known: Iterable<string>): string {
  const names = [...known];
  const near = closestWord(name, names);
  if (near !== undefined) return ` Did you mean "${near}"?`;
  return names.length > 0 && names.length <= MAX_LISTED ? ` Known: ${names.join(", ")}.` : "";
}
