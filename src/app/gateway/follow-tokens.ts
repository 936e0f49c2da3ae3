/**
 * Closes the streams of tokens and logins that end, also if another process ends them: in a file, or in a shared store. For an
 * engine that takes requests with tokens.
 */
import type { Clock } from "../../core/ports/clock.ts";
import type { GatewayContext } from "./routing/gateway-context.ts";

const RELOAD_MS = 1_000;

/** Returns a function that stops it. */
export function followTokens(context: GatewayContext): () => void {
  const { tokens, logins, streams, remoteNodes, agents } = context;
  const reload = (): void => {
    void tokens.reload();
    if (remoteNodes) void logins.reload();
  };
  const stops = [
    tokens.onRevoked((ids) => streams.closeOf(ids, "revoked")),
    logins.onEnded((ids) => streams.closeOf(ids, "revoked")),
    remoteNodes?.onChanged("tokens", () => {
      agents.directory.forget();
      reload();
    }),
    // No request would notice that another process has revoked a token whose streams are open here.
    every(context.ports.clock, RELOAD_MS, reload),
  ];
  return () => {
    for (const stop of stops) stop?.();
  };
}

/** Returns a function that stops it. */
function every(clock: Clock, ms: number, callback: () => void): () => void {
  let cancel = (): void => {};
  const schedule = (): void => {
    cancel = clock.after(ms, () => {
      callback();
      schedule();
    });
  };
  schedule();
  return () => cancel();
}
