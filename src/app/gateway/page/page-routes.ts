/** The control room: a page, its scripts and styles. They contain nothing of the installation, so they need no login. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { NotFoundError } from "../../../core/errors.ts";
import { ANSWERED, type MediaReply } from "../http/send-reply.ts";
import { media } from "../routing/output.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { type PageFile, pageFiles } from "./page-files.ts";

/** Scripts, styles, images and connections of this server only; nothing inline; no frame; HTML only through the sanitiser. */
const PAGE_POLICY = [
  "default-src 'self'",
  "img-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types dompurify",
].join("; ");

const SAFE_HEADERS = {
  "content-security-policy": PAGE_POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
} as const;

const pageRoute = defineRoute({
  name: "getPage",
  method: "GET",
  path: "/",
  access: "anonymous",
  lenient: true,
  action: "page",
  tag: "page",
  summary: "The control room, for browsers",
  output: media("text/html", "A page; it signs in with a code of `rookery open` or with an invitation"),
  handle: ({ incoming, outgoing }) => send("index.html", incoming, outgoing, "no-cache"),
});

const assetRoute = defineRoute({
  name: "getAsset",
  method: "GET",
  path: "/assets/:file",
  access: "anonymous",
  lenient: true,
  action: "page",
  tag: "page",
  summary: "A script, style or image of the control room; its name changes with its content",
  params: z.object({ file: z.string().max(200) }),
  output: media("text/javascript", "The file"),
  handle: ({ params, incoming, outgoing }) =>
    send(`assets/${params.file}`, incoming, outgoing, "public, max-age=31536000, immutable"),
});

async function send(
  name: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  cache: string,
): Promise<MediaReply> {
  const file = (await pageFiles()).get(name);
  if (!file) throw new NotFoundError("The control room has no such file.", { hint: "Reload the page." });
  write(file, /\bgzip\b/.test(String(incoming.headers["accept-encoding"] ?? "")), outgoing, cache);
  return ANSWERED;
}

function write({ type, bytes, gzipped }: PageFile, mayZip: boolean, outgoing: ServerResponse, cache: string): void {
  const body = mayZip ? gzipped : bytes;
  if (mayZip) outgoing.setHeader("content-encoding", "gzip");
  outgoing.writeHead(200, {
    ...SAFE_HEADERS,
    "content-type": type,
    "content-length": body.length,
    "cache-control": cache,
    vary: "Accept-Encoding",
  });
  outgoing.end(body);
}

export const pageRoutes: readonly Route[] = [pageRoute, assetRoute];
