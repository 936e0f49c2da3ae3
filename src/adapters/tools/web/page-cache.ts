/** Pages that were read in the last minutes, so that a model that asks twice makes one request. Bounded in number and size. */
import type { Clock } from "../../../core/ports/clock.ts";

const KEPT_MS = 15 * 60_000;
const MAX_PAGES = 50;

export interface CachedPage {
  readonly url: string;
  readonly title: string;
  readonly text: string;
}

export interface PageCache {
  get(key: string): CachedPage | undefined;
  set(key: string, page: CachedPage): void;
}

export function pageCache(clock: Pick<Clock, "now">): PageCache {
  const pages = new Map<string, { readonly page: CachedPage; readonly until: number }>();
  return {
    get(key) {
      const found = pages.get(key);
      if (found && found.until > clock.now()) return found.page;
      pages.delete(key);
      return undefined;
    },
    set(key, page) {
      pages.delete(key);
      pages.set(key, { page, until: clock.now() + KEPT_MS });
      for (const oldest of pages.keys()) {
        if (pages.size <= MAX_PAGES) break;
        pages.delete(oldest);
      }
    },
  };
}
