/** Options of methods that are not sent to the engine, which checks the rest. Throws `InvalidInputError` for an unknown key. */
import { assertKnownKeys } from "../../core/known-keys.ts";
import type { StreamOptions } from "./event-stream.ts";

/** The option of methods that change something. */
interface IdOption {
  /** The same id again is the same request: it is carried out once. */
  readonly id?: string;
}

export function checkedId(options: IdOption | undefined): IdOption | undefined {
  assertKnownKeys("The options", options, { id: true });
  return options;
}

export function checkedStream(options: StreamOptions | undefined): StreamOptions | undefined {
  assertKnownKeys("The options", options, { after: true, signal: true, onConnection: true, keepTrying: true });
  return options;
}
