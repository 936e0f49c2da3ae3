/**
 * Names that people read in a list and type in a command: unique enough to be typed. Equal names in one list get the beginning of their
 * ids; a typed name may be shortened, and one that fits several finds them all.
 */
import { InvalidInputError } from "./errors.ts";
import { shortId } from "./ids.ts";

interface Named {
  readonly id: string;
  readonly name: string;
}

const MIN_SUFFIX = 4;

/** Names in the same order; those that would be equal get a suffix: "Research (task of main) #k3x9". */
export function distinctNames(items: readonly Named[]): readonly string[] {
  const same = new Map<string, Set<string>>();
  for (const { id, name } of items) same.set(foldedName(name), (same.get(foldedName(name)) ?? new Set()).add(id));
  return items.map(({ id, name }) => {
    const ids = [...(same.get(foldedName(name)) ?? [])];
    if (ids.length < 2) return name;
    let length = MIN_SUFFIX;
    while (length < id.length && new Set(ids.map((one) => one.slice(0, length))).size < ids.length) length += 1;
    return `${name} #${id.slice(0, length)}`;
  });
}

/** Names are compared without case and with single blanks. */
const foldedName = (name: string): string => name.normalize("NFC").replace(/\s+/gu, " ").trim().toLowerCase();

/** Says how a name fits what was typed: as a whole, by its beginning, or not at all. The suffix of a list counts. */
export function nameMatcher(typed: string): (item: Named) => "whole" | "beginning" | undefined {
  const [, base, start = ""] = /^(.+\S) #([a-z0-9-]{4,36})$/u.exec(typed.trim()) ?? [];
  const wanted = foldedName(base ?? typed);
  return ({ id, name }) => {
    const folded = foldedName(name);
    if (wanted === "" || !folded.startsWith(wanted) || !id.startsWith(start)) return undefined;
    return folded === wanted ? "whole" : "beginning";
  };
}

/** The items with this name, else those whose name begins so. */
export function itemsNamed<Item extends Named>(items: readonly Item[], typed: string): readonly Item[] {
  const fits = nameMatcher(typed);
  const whole = items.filter((item) => fits(item) === "whole");
  return whole.length > 0 ? whole : items.filter((item) => fits(item) !== undefined);
}

const MAX_CANDIDATES = 5;

/** The error for a name that fits several: their names, and the ids that tell them apart. */
export function severalNamed(typed: string, items: readonly Named[]): InvalidInputError {
  const shown = items.slice(0, MAX_CANDIDATES).map(({ id, name }) => `${name} (${id})`);
  const more = items.length > MAX_CANDIDATES ? ", …" : "";
  return new InvalidInputError(`"${typed.slice(0, 100)}" fits several: ${shown.join(", ")}${more}.`, {
    hint: "Write the id of the one you mean.",
  });
}

/** An agent as the argument of a command: its name if that is one plain word, else the beginning of its id. */
export const agentArgument = ({ id, name }: Named): string => (/^[a-z][\w-]{0,30}$/iu.test(name) ? name : shortId(id));
