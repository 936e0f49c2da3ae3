/** `connectRookery`: the methods of an engine in another process, over the control socket of its home or over HTTP. */
import { resolve } from "node:path";
import { assertKnownKeys } from "../../core/known-keys.ts";
import { type ConnectedRookery, connectedBy } from "../client/connect-url.ts";
import { HTTP_OPTIONS, type HttpOptions, httpTransport } from "../client/http-transport.ts";
import { homeTransport } from "../gateway/control/home-transport.ts";

/** The home of an engine on this machine that belongs to this user, or the address and a token of its gateway. */
export type ConnectOptions = { readonly home: string } | HttpOptions;

/** Nothing is sent until the first method is called. A method waits for an engine that restarts, and then continues. */
export function connectRookery(options: ConnectOptions): ConnectedRookery {
  assertKnownKeys("connectRookery()", options, { home: true, ...HTTP_OPTIONS });
  return connectedBy("home" in options ? homeTransport(resolve(options.home)) : httpTransport(options));
}
