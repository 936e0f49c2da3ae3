/**
 * A connector that must run on one node at a time. Each node tries to hold the connector's lease; the holder starts it, and
 * another node takes over when the holder stops or dies. The other nodes report it as remote, so that its deliveries are
 * sent by the node that runs it.
 */

import { errorText } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Leases } from "../../core/ports/cluster.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import type { Log } from "../../core/ports/log.ts";

/** How often a node that does not hold the lease tries to get it. */
const TRY_MS = 500;

export function singletonConnector(inner: Connector, ports: { leases: Leases; clock: Clock; log: Log }): Connector {
  const { leases, clock, log } = ports;
  const name = `connector ${inner.name}`;
  let running = false;
  let stopped = false;
  let cancel = (): void => {};
  let changing: Promise<void> = Promise.resolve();

  /** Runs one change at a time: a connector never starts while it stops. */
  const enqueue = (work: () => Promise<void>): Promise<void> => {
    changing = changing.then(work).catch((error) =>
      log.warn("could not start or stop a singleton connector; will retry", {
        connector: inner.name,
        error: errorText(error),
      }),
    );
    return changing;
  };
  const retryLater = (host: ConnectorHost): void => {
    if (!stopped) cancel = clock.after(TRY_MS, () => void enqueue(() => tryStart(host)));
  };

  async function tryStart(host: ConnectorHost): Promise<void> {
    if (stopped || running) return;
    try {
      const lost = (): void =>
        void enqueue(async () => {
          if (!running) return;
          running = false;
          log.warn("lost the lease of a connector; stopping it on this node", { connector: inner.name });
          try {
            await inner.stop();
          } finally {
            retryLater(host);
          }
        });
      if (!(await leases.tryHold(name, lost))) return retryLater(host);
      await inner.start(host);
      running = true;
      log.info("a singleton connector runs on this node", { connector: inner.name });
    } catch (error) {
      await leases.release(name).catch(() => undefined);
      retryLater(host);
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
    start: (host) => enqueue(() => tryStart(host)),
    async stop() {
      stopped = true;
      cancel();
      await enqueue(async () => {
        if (running) await inner.stop();
        running = false;
        await leases.release(name);
      });
    },
    health: () => (running ? inner.health() : { ok: true, detail: "runs on another node" }),
    send: (delivery, signal) => inner.send(delivery, signal),
    lookup: inner.lookup && ((delivery) => inner.lookup?.(delivery) ?? Promise.resolve("unknown")),
  };
}
