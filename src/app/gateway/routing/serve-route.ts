/** Serves one request with one route: authorise, read and check the input, call the handler, send its answer or error. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import { assertMessageFits, LONGEST_TEXT } from "../../../core/text-limits.ts";
import { ambientIdentity } from "../auth/ambient-identity.ts";
import { authorise, bearerToken, type Caller, countFailure } from "../auth/authorise.ts";
import { admitted } from "../auth/judge-request.ts";
import { HttpError } from "../http/http-error.ts";
import { parseJsonBody, parseQuery, readBody } from "../http/read-request.ts";
import { sendError, sendReply } from "../http/send-reply.ts";
import type { GatewayContext } from "./gateway-context.ts";
import { replyOnce } from "./reply-once.ts";
import type { Call, Route } from "./route.ts";

export interface Exchange extends Caller {
  readonly outgoing: ServerResponse;
}

const EMPTY = Buffer.alloc(0);

/** Must not reject: every error becomes the answer. */
export async function serveRoute(
  context: GatewayContext,
  route: Route,
  exchange: Exchange,
  params: Readonly<Record<string, string>>,
): Promise<void> {
  const { surface, incoming, outgoing, address } = exchange;
  try {
    const loading = context.tokens.loadUnknown(bearerToken(incoming));
    if (loading) await loading;
    const isOpen = route.access === "anonymous" || route.access === "hook";
    const ambient = isOpen ? undefined : ambientIdentity(context, exchange);
    const sender = authorise(context, route, exchange, ambient && (await ambient));
    const principal = await admitted(context.agents.directory, route, sender);
    const hasBody = route.body || route.method !== "GET";
    const config = context.config();
    const maxBody = route.maxBody?.(config) ?? config.gateway.limits.bodyBytes;
    const raw = hasBody ? await readBody(incoming, maxBody) : EMPTY;
    const call: Call = {
      context,
      principal,
      surface,
      caller: exchange,
      params: checked(route.params, params, "path"),
      query: checked(route.query, parseQuery(incoming.url ?? ""), "query"),
      body: route.body && checked(route.body, bodyOf(route, incoming, raw), "body"),
      raw,
      incoming,
      outgoing,
      header: (name) => {
        const value = incoming.headers[name];
        return Array.isArray(value) ? value[0] : value;
      },
      record: () => [],
    };
    // A request to the OpenAI API may repeat a whole conversation. Its own message is checked when it is accepted.
    if (route.body && route.tag !== "openai") {
      const { messageCharacters } = config.limits;
      assertMessageFits(call.body as object, route.longText ? LONGEST_TEXT : messageCharacters);
    }
    // A hook checks its own secret and key.
    const isKeyed = route.method === "POST" && route.access !== "hook";
    sendReply(outgoing, await (isKeyed ? replyOnce(route, call) : route.handle(call)));
  } catch (error) {
    const isFailure = route.access === "hook" && error instanceof HttpError && error.status === 401;
    sendError(
      context.ports.log,
      outgoing,
      (isFailure && countFailure(context, address, error.message)) || error,
      route.path,
    );
  }
}

const bodyOf = (route: Route, incoming: IncomingMessage, raw: Buffer): unknown =>
  raw.length === 0 && route.bodyOptional ? {} : parseJsonBody(incoming, raw);

function checked(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (!schema) return value;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = issue?.path.map(String).join(".") || where;
  if (issue?.code === "too_big" && issue.origin === "string") {
    throw new HttpError(413, "too_large", `${param} has more than ${issue.maximum} characters.`, {
      param,
      hint: "Send a shorter text.",
    });
  }
  throw new HttpError(400, "invalid_input", `${param}: ${(issue?.message ?? "is not valid").slice(0, 300)}`, { param });
}
