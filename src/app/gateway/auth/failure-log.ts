/**
 * Writes failed logins to the audit log: at most one row per address and minute, and a bounded number of rows per minute in
 * all, so that guesses cannot fill the store.
 */
import { errorText } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { auditOp } from "../../../engine/people/audit-entry.ts";
import { RateLimiter } from "../http/rate-limiter.ts";

const PER_ADDRESS = { burst: 1, perSecond: 1 / 60 };
const IN_ALL = { burst: 30, perSecond: 30 / 60 };
const MAX_ADDRESSES = 1_000;

export class FailureLog {
  readonly #ports: Pick<Ports, "store" | "ids" | "clock" | "log">;
  readonly #addresses: RateLimiter;
  readonly #all: RateLimiter;

  constructor(ports: Pick<Ports, "store" | "ids" | "clock" | "log">) {
    this.#ports = ports;
    const now = (): number => ports.clock.monotonic();
    this.#addresses = new RateLimiter(now, MAX_ADDRESSES);
    this.#all = new RateLimiter(now, 1);
  }

  /** Must not throw: the answer to a wrong secret does not depend on the log. */
  failed(address: string, reason: string): void {
    if (this.#all.wait("all", IN_ALL) > 0 || this.#addresses.take(address, PER_ADDRESS) > 0) return;
    this.#all.take("all", IN_ALL);
    const { clock, log } = this.#ports;
    const by = { person: "unknown", surface: "api" };
    const row = auditOp(by, clock.now(), { action: "login", target: address, decision: "deny", reason });
    submit(this.#ports, "audit.login", [row]).catch((error) =>
      log.warn("a failed login is not in the audit log", { error: errorText(error) }),
    );
  }
}
