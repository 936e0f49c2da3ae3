/** The port of web searches: one question, a list of results. Each provider is a function that makes the request and reads the answer. */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { OutgoingHttp, OutgoingRequest } from "../../system/outgoing-http.ts";

const SEARCH_PROVIDERS = ["brave", "tavily", "exa", "searxng"] as const;
type SearchProvider = (typeof SEARCH_PROVIDERS)[number];

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly text: string;
}

export interface WebSearch {
  readonly provider: SearchProvider;
  readonly url: string;
  find(query: string, count: number, signal: AbortSignal): Promise<readonly SearchResult[]>;
}

interface SearchOptions {
  readonly provider: SearchProvider;
  /** Default: the address of the provider. Needed for SearXNG. */
  readonly url?: string;
  /** SearXNG needs none. */
  readonly apiKey?: () => string;
  readonly http: OutgoingHttp;
}

interface Provider {
  readonly url?: string;
  request(
    base: string,
    query: string,
    count: number,
    key: string,
  ): Pick<OutgoingRequest, "url" | "method" | "headers" | "body">;
  readonly answer: z.ZodType<readonly SearchResult[]>;
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
const json = { "content-type": "application/json", accept: "application/json" };
const withQuery = (base: string, query: Readonly<Record<string, string>>): string => {
  const url = new URL(base);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
};

const PROVIDERS: Readonly<Record<SearchProvider, Provider>> = {
  brave: {
    url: "https://api.search.brave.com/res/v1/web/search",
    request: (base, q, count, key) => ({
      url: withQuery(base, { q, count: String(count) }),
      headers: { accept: "application/json", "x-subscription-token": key },
    }),
    answer: z
      .object({
        web: z.object({ results: z.array(z.object({ title: text, url: z.string(), description: text })) }).optional(),
      })
      .transform(({ web }) =>
        (web?.results ?? []).map(({ title, url, description }) => ({ title, url, text: description })),
      ),
  },
  tavily: {
    url: "https://api.tavily.com/search",
    request: (url, query, count, key) => ({
      ...{ url, method: "POST" },
      headers: { ...json, authorization: `Bearer ${key}` },
      body: JSON.stringify({ query, max_results: count }),
    }),
    answer: z
      .object({ results: z.array(z.object({ title: text, url: z.string(), content: text })) })
      .transform(({ results }) => results.map(({ title, url, content }) => ({ title, url, text: content }))),
  },
  exa: {
    url: "https://api.exa.ai/search",
    request: (url, query, count, key) => ({
      ...{ url, method: "POST" },
      headers: { ...json, "x-api-key": key },
      body: JSON.stringify({ query, numResults: count, contents: { text: { maxCharacters: 500 } } }),
    }),
    answer: z
      .object({ results: z.array(z.object({ title: text, url: z.string(), text })) })
      .transform(({ results }) => results),
  },
  searxng: {
    request: (base, q) => ({ url: withQuery(base, { q, format: "json" }), headers: { accept: "application/json" } }),
    answer: z
      .object({ results: z.array(z.object({ title: text, url: z.string(), content: text })) })
      .transform(({ results }) => results.map(({ title, url, content }) => ({ title, url, text: content }))),
  },
};

const MAX_ANSWER = 1_000_000;
const TIMEOUT_MS = 15_000;

export function webSearch({ provider, url, apiKey, http }: SearchOptions): WebSearch {
  const { url: usual, request, answer } = PROVIDERS[provider];
  const base = url ?? usual ?? "";
  return {
    provider,
    url: base,
    async find(query, count, signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const asked = request(base, query, count, apiKey?.() ?? "");
      const { status, body } = await http({ ...asked, signal: limit, maxBytes: MAX_ANSWER });
      if (status === 401 || status === 403)
        throw new InvalidInputError(`${provider} refuses the key.`, { hint: "The owner sets web.search.apiKey." });
      if (status === 429)
        throw new InvalidInputError(`${provider} allows no more searches now.`, { hint: "Try again later." });
      if (status !== 200) throw new InvalidInputError(`${provider} answered ${status}.`);
      return resultsOf(answer, body, provider).slice(0, count);
    },
  };
}

function resultsOf(schema: Provider["answer"], body: Buffer, provider: string): readonly SearchResult[] {
  try {
    return schema.parse(JSON.parse(body.toString("utf8")));
  } catch (cause) {
    throw new InvalidInputError(`The answer of ${provider} cannot be read.`, { cause });
  }
}
