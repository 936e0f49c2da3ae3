/** `connectRookery`: the methods of an engine in another process, over the control socket of its home or over HTTP. */
import { resolve } from "node:path";
import { lostConnection } from "../client/api.ts";
import { type ConnectedRookery, connectedBy } from "../client/connect-url.ts";
import { type HttpOptions, httpTransport } from "../client/http-transport.ts";
import type { Transport } from "../client/transport.ts";
import { findEngine } from "../gateway/control/find-engine.ts";

/** The home of an engine on this machine that belongs to this user, or the address and a token of its gateway. */
export type ConnectOptions = { readonly home: string } | HttpOptions;

/** Nothing is sent until the first method is called. A method waits for an engine that restarts, and then continues. */
export const connectRookery = (options: ConnectOptions): ConnectedRookery =>
  connectedBy("home" in options ? homeTransport(resolve(options.home)) : httpTransport(options));

/** Looks for the engine at each request: it may have been started again elsewhere. */
export const homeTransport =
  (home: string): Transport =>
  async (request) => {
    const engine = await findEngine(home);
    if (engine) return engine(request);
    throw lostConnection(new TypeError(`No engine runs on ${home}.`));
  };
