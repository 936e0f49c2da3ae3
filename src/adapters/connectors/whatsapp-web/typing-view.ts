/** Shows a person that an answer is being written, again and again until it is there. */
import type { Clock } from "../../../core/ports/clock.ts";
import type { LiveView } from "../../../core/ports/connector.ts";

const EVERY_MS = 8_000;

export function webTypingView(
  clock: Clock,
  show: (type: "composing" | "paused") => void,
  closed: (view: LiveView) => void,
): LiveView {
  let cancel = (): void => {};
  const tick = (): void => {
    show("composing");
    cancel = clock.after(EVERY_MS, tick);
  };
  tick();
  const view: LiveView = {
    text() {},
    status() {},
    close() {
      cancel();
      closed(view);
    },
  };
  return view;
}
