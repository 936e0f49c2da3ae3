/** Requests to the engine that runs on a home. Looks for it at each request: it may have been started again elsewhere. */
import { lostConnection } from "../../client/api.ts";
import type { Transport } from "../../client/transport.ts";
import { findEngine } from "./find-engine.ts";

export const homeTransport =
  (home: string): Transport =>
  async (request) => {
    const engine = await findEngine(home);
    if (engine) return engine(request);
    throw lostConnection(new TypeError(`No engine runs on ${home}.`));
  };
