/** The web: which search the tool `web_search` uses. */
import { secretSchema } from "../secret.ts";
import { httpUrl, oneOf, section } from "../values.ts";

export const webSchema = section({
  search: section({
    provider: oneOf(["brave", "tavily", "exa", "searxng"]),
    /** The address of a SearXNG server, such as `http://127.0.0.1:8888/search`; for others only to use a proxy. */
    url: httpUrl().optional(),
    apiKey: secretSchema.optional(),
  })
    .refine(({ provider, url }) => provider !== "searxng" || url !== undefined, {
      error: 'expected "url" for searxng, such as "http://127.0.0.1:8888/search"',
    })
    .optional(),
}).prefault({});
