/**
 * Finds the route for a method and path with hono's trie router. The rest of hono is not used: requests and responses stay
 * Node's own objects, which saves a second set of objects and the memory of an HTTP/2 stack.
 */
import { TrieRouter } from "hono/router/trie-router";
import { HttpError } from "../http/http-error.ts";
import type { Method, Route } from "./route.ts";

export type Match =
  | { readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly error: HttpError };

export type Router = (method: string, url: string) => Match;
export type LazyRouter = (method: string, url: string) => Match | Promise<Match>;

/** Starts with the eager routes. The first request for another route loads the whole table. */
export function lazyRouter(eager: readonly Route[], loadAll: () => Promise<readonly Route[]>): LazyRouter {
  const eagerRouter = routerOf(eager);
  let fullRouter: Router | undefined;
  return (method, url) => {
    const match = (fullRouter ?? eagerRouter)(method, url);
    if (fullRouter || "route" in match) return match;
    return loadAll().then((routes) => {
      fullRouter ??= routerOf(routes);
      return fullRouter(method, url);
    });
  };
}

export function routerOf(routes: readonly Route[]): Router {
  const router = new TrieRouter<Route>();
  for (const route of routes) router.add(route.method, route.path, route);
  const methods = [...new Set(routes.map(({ method }) => method))];
  const find = (method: string, path: string): Match | undefined => {
    const [handlers, stash] = router.match(method, path);
    const [route, places] = handlers[0] ?? [];
    if (!route || !places) return undefined;
    const params: Record<string, string> = {};
    for (const [name, place] of Object.entries(places)) {
      const raw = stash ? (stash[place as number] ?? "") : String(place);
      const value = decode(raw);
      if (value === undefined) {
        return { error: new HttpError(400, "bad_url", "The path is not valid percent-encoding.") };
      }
      params[name] = value;
    }
    return { route, params };
  };
  return (method, url) => {
    const end = url.search(/[?#]/);
    const path = end < 0 ? url : url.slice(0, end);
    const found = find(method === "HEAD" ? "GET" : method, path);
    if (found) return found;
    const others = methods.filter((other: Method) => other !== method && find(other, path));
    if (others.length > 0) {
      return { error: new HttpError(405, "method_not_allowed", `This path supports ${others.join(", ")}.`) };
    }
    return {
      error: new HttpError(404, "not_found", "There is no such route.", {
        hint: "GET /openapi.json lists the routes.",
      }),
    };
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
