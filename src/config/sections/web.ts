/** The web: which search the tool `web_search` uses. */
import { secretSchema } from "../secret.ts";
import { httpUrl, oneOf, section } from "../values.ts";

export const webSchema = section({
  search: section({
    provider: oneOf(["brave", "tavily", "exa", "searxng"]).describe("the search behind `web_search`"),
    url: httpUrl()
      .optional()
      .describe(
        "the address of a SearXNG server, such as `http://127.0.0.1:8888/search`; a private one must be in `network.allowPrivate`",
      ),
    apiKey: secretSchema.optional().describe("the key of the search"),
  })
    .refine(({ provider, url }) => provider !== "searxng" || url !== undefined, {
      error: 'expected "url" for searxng, such as "http://127.0.0.1:8888/search"',
    })
    .optional(),
})
  .prefault({})
  .meta({ description: "the search of the web", page: "web.md" });
