/** Search over conversations and notes. */
import type { List } from "../../core/list.ts";
import type { SearchHit } from "../../core/search/search-index.ts";
import type { EngineApi } from "./engine-api.ts";

interface SearchOptions {
  /** Only the conversation of this agent, by its id. */
  readonly agent?: string;
  /** Of an application: whose conversations. */
  readonly user?: string;
  /** How many hits; 10 if left out. */
  readonly limit?: number;
}

/** A place where the words stand: who said it when, and where to read on. */
type FoundText = Omit<SearchHit, "directory">;

export type Search = (query: string, options?: SearchOptions) => Promise<List<FoundText, null>>;

export const searchOf =
  (api: EngineApi): Search =>
  (query, options) =>
    api.get("/api/search", { q: query, ...options });
