/** `web_search`: results of the configured search. The text is untrusted (M32). */
import { z } from "zod";
import { cutText } from "../../../core/cut-text.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { WebDeps } from "./web-deps.ts";
import { hostEffects } from "./web-fetch-tool.ts";
import type { SearchResult } from "./web-search.ts";

const input = z.strictObject({
  query: z.string().min(1).max(400),
  count: z.int().min(1).max(20).optional(),
});

export const webSearchTool = ({ search }: WebDeps): Tool<z.infer<typeof input>> => ({
  name: "web_search",
  description: "Searches the web: titles, addresses and short texts.",
  input,
  rights: ["network"],
  replay: "safe",
  parallel: true,
  maxOutput: 12_000,
  effects: () => hostEffects("web_search", search()?.url ?? ""),
  async execute({ query, count = 8 }, { signal }) {
    const found = search();
    if (!found)
      throw new InvalidInputError("No web search is configured.", { hint: "The owner sets web.search.provider." });
    const results = await found.find(query, count, signal);
    const shown = results.map(shownResult).join("\n\n");
    return {
      content: [{ type: "text", text: shown || "Nothing was found." }],
      untrusted: { from: `web:${found.provider}` },
    };
  },
});

const shownResult = ({ title, url, text }: SearchResult, index: number): string =>
  [`${index + 1}. ${oneLine(title, 200)}`, oneLine(url, 500), oneLine(text, 600)].filter(Boolean).join("\n");

/** Without marks of HTML, which some providers put around words. */
const oneLine = (text: string, max: number): string =>
  cutText(
    text
      .replace(/<\/?(?:strong|b|em)>/g, "")
      .replace(/[\p{Cc}\s]/gu, " ")
      .trim(),
    max,
  );
