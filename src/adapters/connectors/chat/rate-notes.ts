/** Keeps what groups got within a minute in the store, one write after the other, so that a restart does not exceed their rate. */
import { z } from "zod";
import { errorText } from "../../../core/errors.ts";
import type { Ids } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { Store } from "../../../core/store/store.ts";
import { submit } from "../../../engine/commit/submit.ts";
import type { NotedSends, RateNotes } from "./send-rates.ts";

interface NotePorts {
  readonly clock: Clock;
  readonly store: Store;
  readonly ids: Ids;
  readonly log: Log;
}

const notedSchema = z.record(z.string(), z.array(z.number()));

export function rateNotes(ports: NotePorts, key: string): RateNotes & { read(): Promise<NotedSends> } {
  let writing: Promise<void> = Promise.resolve();
  return {
    /** What cannot be read is as good as nothing. Rejects if the store does not answer. */
    async read() {
      const text = await ports.store.fact(key);
      try {
        return notedSchema.parse(JSON.parse(text ?? "{}"));
      } catch {
        return {};
      }
    },
    write(noted) {
      writing = writing.then(async () => {
        await submit(ports, "telegram.rates", [{ op: "fact.put", key, value: JSON.stringify(noted) }]).catch((error) =>
          ports.log.warn("the rates of groups could not be noted", { error: errorText(error) }),
        );
      });
      return writing;
    },
  };
}
