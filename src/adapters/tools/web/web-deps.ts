/** What the tools for the web need: the one client for outgoing requests, a cache, and the configured search. */
import type { Clock } from "../../../core/ports/clock.ts";
import type { OutgoingHttp } from "../../system/outgoing-http.ts";
import type { WebSearch } from "./web-search.ts";

export interface WebDeps {
  readonly http: OutgoingHttp;
  readonly clock: Pick<Clock, "now">;
  /** Undefined: no search is configured. */
  search(): WebSearch | undefined;
}
