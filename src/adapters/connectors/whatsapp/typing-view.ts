/** Shows that an answer is on its way: the message that is answered is marked as read, with typing. The server shows it for 25 seconds. */
import type { Clock } from "../../../core/ports/clock.ts";
import type { LiveView } from "../../../core/ports/connector.ts";
import type { GraphApi } from "./graph-api.ts";

const EVERY_MS = 20_000;
/** A run that works longer is no longer shown: typing for many minutes says nothing. */
const MAX_TIMES = 45;

interface TypingDeps {
  readonly api: GraphApi;
  readonly clock: Clock;
  /** The message that is answered, as the channel calls it. */
  readonly messageId: string;
}

export const markRead = (api: GraphApi, messageId: string, typing: boolean): Promise<unknown> =>
  api.message({
    ...{ status: "read", message_id: messageId },
    typing_indicator: typing ? { type: "text" } : undefined,
  });

export function typingView({ api, clock, messageId }: TypingDeps, closed: () => void): LiveView {
  let isClosed = false;
  let cancel = (): void => {};
  let times = 0;
  const tick = (): void => {
    if (isClosed || ++times > MAX_TIMES) return;
    void markRead(api, messageId, true);
    cancel = clock.after(EVERY_MS, tick);
  };
  tick();
  return {
    text() {},
    status() {},
    close() {
      isClosed = true;
      cancel();
      closed();
    },
  };
}
