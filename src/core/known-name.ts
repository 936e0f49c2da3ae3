/** What to say about a name that does not exist: the closest one that does. */
import { closestWord } from "./closest-word.ts";

const MAX_SHOWN = 64;
const MAX_LISTED = 12;

/** `There is no profile "wrok". Did you mean "work"?`, or the known names if none is close. */
export function unknownName(what: string, name: string, known: Iterable<string>): string {
  const names = [...known];
  const near = closestWord(name, names);
  const listed = names.length > 0 && names.length <= MAX_LISTED ? ` Known: ${names.join(", ")}.` : "";
  return `There is no ${what} "${name.slice(0, MAX_SHOWN)}".${near === undefined ? listed : ` Did you mean "${near}"?`}`;
}
