/**
 * Keeps one account of a channel running. A start that fails is tried again after a pause that grows, and shown in the health:
 * an account that cannot connect never stops the engine or another account (L14).
 */
import { errorText } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { AccountStatus, Connector, ConnectorHost } from "../../../core/ports/connector.ts";
import type { Log } from "../../../core/ports/log.ts";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

export interface Supervised extends Connector {
  state(): AccountStatus["state"];
}

/** What every account of one kind has in common, connected or not. */
export type ChannelTraits = Pick<Connector, "capabilities" | "sendingClass" | "replayHorizonMs">;

/** `open` may throw, for example if a secret is missing. It is called for each try. */
export function supervise(
  name: string,
  traits: ChannelTraits,
  open: () => Promise<Connector>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Supervised {
  let running: Connector | undefined;
  /** Takes requests while the account runs on another node, or has not started yet. It is never started. */
  let standby: Promise<Connector> | undefined;
  let wanted = false;
  let failures = 0;
  let lastError: { at: number; text: string } | undefined;
  let cancel = (): void => {};
  let changing: Promise<void> = Promise.resolve();

  const failed = (error: unknown): void => {
    failures += 1;
    lastError = { at: clock.now(), text: errorText(error) };
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
    log.warn("an account of a channel could not start; trying again", { account: name, error: lastError.text, pause });
    cancel = clock.after(pause, () => void start(latest));
  };
  let latest: ConnectorHost | undefined;
  const start = (host: ConnectorHost | undefined): Promise<void> => {
    latest = host;
    changing = changing.then(async () => {
      if (!wanted || running || !host) return;
      let opened: Connector | undefined;
      try {
        opened = await open();
        await opened.start(host);
        running = opened;
        failures = 0;
      } catch (error) {
        await opened?.stop().catch(() => undefined);
        failed(error);
      }
    });
    return changing;
  };
  const notRunning = `"${name}" is not connected`;
  return {
    name,
    ...traits,
    once: true,
    start(host) {
      wanted = true;
      return start(host);
    },
    async stop() {
      wanted = false;
      cancel();
      changing = changing.then(async () => {
        const was = running;
        running = undefined;
        standby = undefined;
        await was
          ?.stop()
          .catch((error) => log.warn("an account did not stop", { account: name, error: errorText(error) }));
      });
      await changing;
    },
    state: () => (running ? (running.health().ok ? "running" : "failing") : failures > 0 ? "failing" : "starting"),
    health() {
      const inner = running?.health();
      if (inner) return { ...inner, lastError: inner.lastError ?? lastError };
      const detail = lastError ? `could not start: ${lastError.text}` : "starting";
      return { ok: lastError === undefined, detail, lastError };
    },
    admit: (target) => (running ? (running.admit?.(target) ?? 0) : WAIT_FOR_START_MS),
    send: async (delivery, signal) => running?.send(delivery, signal) ?? { status: "retry", reason: notRunning },
    async receive(request, host) {
      if (running) return running.receive?.(request, host);
      standby ??= open().catch((error) => {
        standby = undefined;
        throw error;
      });
      return (await standby).receive?.(request, host);
    },
    view: (target, run) => running?.view?.(target, run),
    lookup: async (delivery) => running?.lookup?.(delivery) ?? "unknown",
  };
}

/** How long a delivery waits before it asks again whether its account is connected. */
export const WAIT_FOR_START_MS = 2_000;
