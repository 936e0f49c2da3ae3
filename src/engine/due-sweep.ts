/** Works on rows when they are due. One timer is set to the next of them; without one, no timer runs. */
import { errorText } from "../core/errors.ts";
import type { Ports } from "../core/ports/ports.ts";

export interface DueSweep {
  /** A row may be due at this time. */
  due(at: number): void;
  stop(): void;
}

interface SweepOptions {
  /** Other nodes make rows too: the table is read at least this often. */
  readonly shared: boolean;
  /** In the log, if it fails. */
  readonly failed: string;
  /** How long after a failure it is tried again. */
  readonly laterMs: number;
  /** Works on what is due now. Returns when the next row is due, if there is one. */
  sweep(): Promise<number | undefined>;
}

const LOOK_AGAIN_MS = 60_000;

export function startDueSweep({ clock, log }: Pick<Ports, "clock" | "log">, options: SweepOptions): DueSweep {
  let cancel = (): void => {};
  let at = Number.POSITIVE_INFINITY;
  let stopped = false;
  const due = (when: number): void => {
    if (stopped || when >= at) return;
    cancel();
    if (when <= clock.now()) {
      at = Number.POSITIVE_INFINITY;
      void sweep();
      return;
    }
    at = when;
    cancel = clock.after(when - clock.now(), () => {
      at = Number.POSITIVE_INFINITY;
      void sweep();
    });
  };
  const sweep = async (): Promise<void> => {
    try {
      const next = (await options.sweep()) ?? Number.POSITIVE_INFINITY;
      due(options.shared ? Math.min(next, clock.now() + LOOK_AGAIN_MS) : next);
    } catch (error) {
      log.warn(options.failed, { error: errorText(error) });
      due(clock.now() + options.laterMs);
    }
  };
  void sweep();
  return {
    due,
    stop() {
      stopped = true;
      cancel();
    },
  };
}
