/**
 * Records which responses were sent as a whole (M18). The row of a request is written with its message; its end follows a
 * moment later, together with other ends. Until it is written, it is committed with the next request of the same content.
 */
import { errorText } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Op } from "../../../core/store/change.ts";
import { submit } from "../../../engine/commit/submit.ts";

type FinishOp = Extract<Op, { op: "request.finish" }>;

const WRITE_AFTER_MS = 250;
const PORTION = 200;
/** More unwritten ends than this are not kept while the store does not answer. */
const MAX_UNWRITTEN = 10_000;

export class RequestLedger {
  readonly #ports: Pick<Ports, "store" | "ids" | "clock" | "log">;
  /** By the key of the row. Only the latest request of a row has an end. */
  readonly #unwritten = new Map<string, FinishOp>();
  #writing: Promise<void> = Promise.resolve();
  #cancelWrite: (() => void) | undefined;
  #closed = false;

  constructor(ports: Pick<Ports, "store" | "ids" | "clock" | "log">) {
    this.#ports = ports;
  }

  /** All of the response to a request was sent. */
  finished(key: string, { agentId, seq }: { readonly agentId: AgentId; readonly seq: number }): void {
    this.#unwritten.delete(key);
    this.#unwritten.set(key, { op: "request.finish", key, agentId, seq });
    const [oldest] = this.#unwritten.keys();
    if (this.#unwritten.size > MAX_UNWRITTEN && oldest !== undefined) this.#unwritten.delete(oldest);
    this.#schedule();
  }

  /** The end of the latest request of a row, if it is not written yet. Commit it before a message with that row. */
  unwritten(key: string): readonly FinishOp[] {
    const op = this.#unwritten.get(key);
    return op ? [op] : [];
  }

  /** Writes the ends. Must not reject: an end that is lost makes an identical request join once more. */
  flush(): Promise<void> {
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  close(): Promise<void> {
    this.#closed = true;
    return this.flush();
  }

  async #write(): Promise<void> {
    const ops = [...this.#unwritten.values()];
    try {
      for (let at = 0; at < ops.length; at += PORTION) {
        const portion = ops.slice(at, at + PORTION);
        await submit(this.#ports, "api.finished", portion);
        // Kept until here, so that no request in between misses it.
        for (const op of portion) if (this.#unwritten.get(op.key) === op) this.#unwritten.delete(op.key);
      }
    } catch (error) {
      this.#ports.log.warn("the ends of responses are not written yet", { error: errorText(error) });
      if (!this.#closed) this.#schedule();
    }
  }

  #schedule(): void {
    this.#cancelWrite ??= this.#ports.clock.after(WRITE_AFTER_MS, () => void this.flush());
  }
}
