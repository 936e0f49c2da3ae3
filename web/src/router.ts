/** The view in the fragment of the address: `#/conversations/ID?tab=x`. */
import { signal } from "@preact/signals";

export interface Route {
  readonly view: string;
  readonly id: string | undefined;
  readonly query: Readonly<Record<string, string>>;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view = "", id] = path.split("/");
  return { view: view || "now", id: id === undefined || id === "" ? undefined : decoded(id), query: queryOf(query) };
}

function queryOf(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal(parseRoute(location.hash));
addEventListener("hashchange", () => {
  route.value = parseRoute(location.hash);
});

export function linkTo(view: string, id?: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const text = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return `#/${view}${id === undefined ? "" : `/${encodeURIComponent(id)}`}${text}`;
}

export function go(view: string, id?: string, query?: Readonly<Record<string, string | undefined>>): void {
  location.hash = linkTo(view, id, query);
}

/** Goes to another view without a new entry in the history of the browser. */
export function replaceRoute(hash: string): void {
  history.replaceState(null, "", `${location.pathname}${hash}`);
  route.value = parseRoute(location.hash);
}

/** Changes the query of the current view without a new entry in the history of the browser. */
export function setQuery(query: Readonly<Record<string, string | undefined>>): void {
  const { view, id, query: before } = route.peek();
  replaceRoute(linkTo(view, id, { ...before, ...query }));
}
