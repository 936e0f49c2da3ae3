/** Serves one request with one route: authorise, read and check the input, call the handler, send its answer or error. */
import { channel } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { assertMessageFits, LONGEST_TEXT } from "../../../core/text-limits.ts";
import { ambientIdentity } from "../auth/ambient-identity.ts";
import { authorise, bearerToken, type Caller, countFailure } from "../auth/authorise.ts";
import { admitted } from "../auth/judge-request.ts";
import { HttpError } from "../http/http-error.ts";
import { checkInput, parseJsonBody, parseQuery, readBody } from "../http/read-request.ts";
import { sendError, sendReply } from "../http/send-reply.ts";
import type { GatewayContext } from "./gateway-context.ts";
import { replyOnce } from "./reply-once.ts";
import { type Call, isLenient, type Route } from "./route.ts";

interface Exchange extends Caller {
  readonly outgoing: ServerResponse;
}

/** Tests subscribe to it and compare every reply with the schema of its route. */
const replies = channel("rookery.reply");

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
    const config = context.settings.current;
    const maxBody = route.maxBody?.(config) ?? config.gateway.limits.bodyBytes;
    const raw = hasBody ? await readBody(incoming, maxBody) : EMPTY;
    const call: Call = {
      context,
      principal,
      surface,
      caller: exchange,
      params: route.params ? checkInput(route.params, params, "path") : params,
      query: queryOf(route, incoming),
      body: bodyOf(route, incoming, raw),
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
      assertMessageFits(call.body as object, route.longText ? LONGEST_TEXT : undefined);
    }
    // A hook checks its own secret and key.
    const isKeyed = route.method === "POST" && route.access !== "hook";
    const reply = await (isKeyed ? replyOnce(route, call) : route.handle(call));
    if (replies.hasSubscribers) replies.publish({ route, reply });
    sendReply(outgoing, reply);
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

const NOTHING = z.strictObject({});

/** A route that names no parameters takes none: a misplaced option must not be ignored. */
function queryOf(route: Route, incoming: IncomingMessage): unknown {
  const query = parseQuery(incoming.url ?? "");
  if (!route.query && isLenient(route)) return query;
  return checkInput(route.query ?? NOTHING, query, "query");
}

/** The same for a body. */
function bodyOf(route: Route, incoming: IncomingMessage, raw: Buffer): unknown {
  const { body, bodyType, bodyOptional } = route;
  if (!body && (raw.length === 0 || bodyType !== undefined || isLenient(route))) return undefined;
  const given = raw.length === 0 && bodyOptional ? {} : parseJsonBody(incoming, raw);
  return checkInput(body ?? NOTHING, given, "body");
}
