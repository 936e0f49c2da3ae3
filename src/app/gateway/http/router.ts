/**
 * From method and path to a route of the table, by hono's router. Only the router is used: requests are read from and
 * answers written to Node's own objects, which costs neither a second set of objects nor the memory of an HTTP/2 stack.
 */
import { TrieRouter } from "hono/router/trie-router";
import { HttpError } from "./http-error.ts";
import type { Method, Route } from "./route.ts";

export type Found =
  | { readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly error: HttpError };

export type Finder = (method: string, url: string) => Found;

/** Looks among a few routes first. Who asks for another gets the whole table, which is loaded with the first such request. */
export function routerWithRest(
  front: readonly Route[],
  load: () => Promise<readonly Route[]>,
): (method: string, url: string) => Found | Promise<Found> {
  const nearby = routerOf(front);
  let everything: Finder | undefined;
  return (method, url) => {
    const found = (everything ?? nearby)(method, url);
    if (everything || "route" in found) return found;
    return load().then((routes) => {
      everything ??= routerOf(routes);
      return everything(method, url);
    });
  };
}

export function routerOf(routes: readonly Route[]): Finder {
  const router = new TrieRouter<Route>();
  for (const route of routes) router.add(route.method, route.path, route);
  const methods = [...new Set(routes.map(({ method }) => method))];
  const match = (method: string, path: string): Found | undefined => {
    const [handlers, stash] = router.match(method, path);
    const [route, places] = handlers[0] ?? [];
    if (!route || !places) return undefined;
    const params: Record<string, string> = {};
    for (const [name, place] of Object.entries(places)) {
      const raw = stash ? (stash[place as number] ?? "") : String(place);
      const read = decoded(raw);
      if (read === undefined) return { error: new HttpError(400, "bad_url", "The path cannot be read.") };
      params[name] = read;
    }
    return { route, params };
  };
  return (method, url) => {
    const end = url.search(/[?#]/);
    const path = end < 0 ? url : url.slice(0, end);
    const found = match(method === "HEAD" ? "GET" : method, path);
    if (found) return found;
    const others = methods.filter((other: Method) => other !== method && match(other, path));
    if (others.length > 0) {
      return { error: new HttpError(405, "method_not_allowed", `This path knows ${others.join(", ")}.`) };
    }
    return {
      error: new HttpError(404, "not_found", "There is no such route.", { hint: "GET /openapi.json describes them." }),
    };
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
