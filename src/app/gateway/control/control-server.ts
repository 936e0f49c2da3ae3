/**
 * The HTTP server of the control surface: the same routes and the same authorisation as the HTTP port, with the owner as the
 * sender. It listens on no address: its connections come from the control socket, or from a command in this process.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { STORE_HEADER } from "../auth/control-headers.ts";
import { controlPolicy } from "../auth/request-policy.ts";
import { HttpError } from "../http/http-error.ts";
import { sendError } from "../http/send-reply.ts";
import { createServer, type HttpServer } from "../http/server.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { requestListener } from "../routing/request-listener.ts";
import type { LazyRouter } from "../routing/router.ts";

/** `store`: the address of the shared store that the engine uses. */
export function controlServer(context: GatewayContext, router: LazyRouter, store?: string): HttpServer {
  const answer = requestListener({
    context,
    surface: "control",
    router,
    policy: () => controlPolicy(context.settings.current),
    onRequestEnd() {},
  });
  const digest = createHash("sha256")
    .update(store ?? "")
    .digest("hex");
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    // One request per connection: no idle connection delays the end of the engine.
    outgoing.shouldKeepAlive = false;
    const named = incoming.headers[STORE_HEADER];
    if (named === undefined || named === digest) {
      answer(incoming, outgoing);
      return;
    }
    incoming.resume();
    const error = new HttpError(421, "other_store", "The running engine of this home uses another store.");
    sendError(context.ports.log, outgoing, error, "control socket");
  };
  return createServer({ tls: undefined, limits: context.limits, onRequest });
}
