/**
 * A connector that must run once among all nodes: it is started where its lease is held and moves when that node dies or
 * lets go. Everywhere else it waits, and says that it is elsewhere, so that its deliveries are sent where it runs.
 */

import { errorText } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import type { Log } from "../../core/ports/log.ts";

/** Names of which each is held by one node at most, and by nobody longer than its process lives. */
export interface Leases {
  /** True where it is ours from now on, until `release`; `lost` is called where it no longer is. */
  tryHold(name: string, lost: () => void): Promise<boolean>;
  release(name: string): Promise<void>;
}

/** How often a node that does not run it asks whether it may. */
const ASK_MS = 500;

export function singletonConnector(inner: Connector, ports: { leases: Leases; clock: Clock; log: Log }): Connector {
  const { leases, clock, log } = ports;
  const name = `connector ${inner.name}`;
  let running = false;
  let stopped = false;
  let cancel = (): void => {};
  let changing: Promise<void> = Promise.resolve();

  /** One thing after the other: a connector is never started while it is being stopped. */
  const then = (work: () => Promise<void>): Promise<void> => {
    changing = changing.then(work).catch((error) =>
      log.warn("a connector that runs once could not be moved yet", {
        connector: inner.name,
        error: errorText(error),
      }),
    );
    return changing;
  };
  const again = (host: ConnectorHost): void => {
    if (!stopped) cancel = clock.after(ASK_MS, () => void then(() => ask(host)));
  };

  async function ask(host: ConnectorHost): Promise<void> {
    if (stopped || running) return;
    try {
      const lost = (): void =>
        void then(async () => {
          if (!running) return;
          running = false;
          log.warn("a connector's lease is lost; it stops here", { connector: inner.name });
          await inner.stop();
          again(host);
        });
      if (!(await leases.tryHold(name, lost))) return again(host);
      await inner.start(host);
      running = true;
      log.info("a connector runs here", { connector: inner.name });
    } catch (error) {
      await leases.release(name).catch(() => undefined);
      again(host);
      throw error;
    }
  }

  return {
    ...inner,
    name: inner.name,
    capabilities: inner.capabilities,
    sendingClass: inner.sendingClass,
    replayHorizonMs: inner.replayHorizonMs,
    isRemote: () => !running,
    start: (host) => then(() => ask(host)),
    async stop() {
      stopped = true;
      cancel();
      await then(async () => {
        if (running) await inner.stop();
        running = false;
        await leases.release(name);
      });
    },
    health: () => (running ? inner.health() : { ok: true, detail: "runs on another node" }),
    send: (delivery, signal) => inner.send(delivery, signal),
    ...(inner.lookup ? { lookup: (delivery) => inner.lookup?.(delivery) ?? Promise.resolve("unknown") } : {}),
  };
}
