/** `connectRookery`: the methods of an engine in another process, over the control socket of its home or over HTTP. */
import { resolve } from "node:path";
import { type ConnectedRookery, connectedBy } from "../client/connect-url.ts";
import { type HttpOptions, httpTransport } from "../client/http-transport.ts";
import { homeTransport } from "../gateway/control/home-transport.ts";

/** The home of an engine on this machine that belongs to this user, or the address and a token of its gateway. */
export type ConnectOptions = { readonly home: string } | HttpOptions;

/** Nothing is sent until the first method is called. A method waits for an engine that restarts, and then continues. */
export const connectRookery = (options: ConnectOptions): ConnectedRookery =>
  connectedBy("home" in options ? homeTransport(resolve(options.home)) : httpTransport(options));
