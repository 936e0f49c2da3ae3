/**
 * `web_fetch`: the readable text of a web page. Private addresses are denied after the name is resolved and on every redirect; a
 * redirect to another host is not followed but told, so that the gate judges every host. The text is untrusted (M32).
 */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import type { OutgoingAnswer } from "../../system/outgoing-http.ts";
import { type CachedPage, type PageCache, pageCache } from "./page-cache.ts";
import { MAX_HTML, pageText } from "./page-text.ts";
import type { WebDeps } from "./web-deps.ts";

const MAX_SHOWN = 20_000;
const TIMEOUT_MS = 20_000;
const MAX_HOPS = 5;

const input = z.strictObject({
  url: z.string().max(8_000),
  offset: z.int().min(0).optional().describe("Go on at this character"),
});

export const webFetchTool = (deps: WebDeps): Tool<z.infer<typeof input>> => {
  const cache = pageCache(deps.clock);
  return {
    name: "web_fetch",
    description: "Reads a web page as text.",
    input,
    rights: ["network"],
    replay: "safe",
    parallel: true,
    maxOutput: MAX_SHOWN + 1_000,
    effects: ({ url }) => hostEffects("web_fetch", url),
    async execute({ url, offset = 0 }, { signal }) {
      const page = await pageAt(deps, cache, url, signal);
      const shown = page.text.slice(offset, offset + MAX_SHOWN).toWellFormed();
      const end = offset + shown.length;
      const note = end < page.text.length ? `\n\n[characters ${offset} to ${end} of ${page.text.length}]` : "";
      const head = [page.title && `# ${page.title}`, page.url].filter(Boolean).join("\n");
      return {
        content: [{ type: "text", text: `${head}\n\n${shown}${note}` }],
        untrusted: { from: `web:${hostOf(page.url)}` },
      };
    },
  };
};

/** A host that a call reaches. A text that is no address reaches nothing. */
export function hostEffects(action: string, url: string): readonly Effect[] {
  const parsed = URL.parse(url);
  if (!parsed) return [];
  const port = parsed.port === "" ? undefined : Number(parsed.port);
  return [{ action, rights: ["network"], detail: { kind: "host", host: parsed.hostname, port } }];
}

const hostOf = (url: string): string => URL.parse(url)?.host ?? "";

async function pageAt({ http }: WebDeps, cache: PageCache, url: string, signal: AbortSignal): Promise<CachedPage> {
  const known = cache.get(url);
  if (known) return known;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const headers = {
    accept: "text/html,text/plain,application/json;q=0.9,*/*;q=0.5",
    "user-agent": "Rookery (web_fetch)",
  };
  let at = url;
  for (let hops = 0; ; hops++) {
    // A redirect is an answer like any other: the next host is compared before it is asked.
    const answer = await http({ url: at, headers, signal: limit, maxBytes: MAX_HTML });
    const next = redirectOf(answer);
    if (next === undefined) {
      const page = await readPage(answer, at);
      cache.set(url, page);
      return page;
    }
    if (hops === MAX_HOPS) throw new InvalidInputError(`${url} redirects more than ${MAX_HOPS} times.`);
    if (!isSameSite(at, next)) {
      throw new InvalidInputError(`${url} leads to another host: ${next}`, {
        hint: "Call web_fetch with that address.",
      });
    }
    at = next;
  }
}

function redirectOf({ status, headers, url }: OutgoingAnswer): string | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || headers.location === undefined) return undefined;
  return URL.parse(headers.location, url)?.href;
}

/** The same host, or the same with or without `www.`; a better protocol is no other host. */
function isSameSite(from: string, to: string): boolean {
  const [a, b] = [URL.parse(from), URL.parse(to)];
  const bare = (host: string): string => host.replace(/^www\./, "");
  if (!a || !b || (a.protocol === "https:" && b.protocol !== "https:")) return false;
  return bare(a.hostname) === bare(b.hostname) && (a.port === b.port || b.port === "");
}

async function readPage({ status, headers, body, cut }: OutgoingAnswer, url: string): Promise<CachedPage> {
  if (status < 200 || status >= 300) throw new InvalidInputError(`${url} answered ${status}.`);
  const type = (headers["content-type"] ?? "text/html").toLowerCase();
  const text = textOf(body, type);
  if (text === undefined) throw new InvalidInputError(`${url} is ${type.split(";")[0]}, which is not text.`);
  const isHtml = type.includes("html");
  const page = isHtml ? await pageText(text, url) : { title: "", text };
  const notes = [
    cut ? `the page is longer than ${MAX_HTML} bytes and was cut` : [],
    "isPlain" in page && page.isPlain ? "shown as plain text" : [],
  ].flat();
  return { url, title: page.title, text: notes.length === 0 ? page.text : `${page.text}\n\n[${notes.join("; ")}]` };
}

/** Undefined if it is not text. An unknown charset is read as UTF-8. */
function textOf(body: Buffer, type: string): string | undefined {
  if (!/^(?:text\/|application\/(?:json|xml|xhtml|javascript|ld\+json|rss|atom))/.test(type) && !type.includes("+xml"))
    return undefined;
  const charset = /charset=["']?([\w-]{1,40})/.exec(type)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}
