/**
 * Messages that cannot be handled (M48): each is tried four times, as its row counts, and then fails with its reason. No other
 * message fails with it, and no command stays in an inbox.
 */
import { broken, type View, type Violation } from "./audit-view.ts";

const TIMES = 3;

export function* failures({ rows, directives, listed, scenario }: View): Iterable<Violation> {
  if (!scenario.needs.includes("unhandled")) return;
  for (const [token, found] of rows) {
    const isUnhandled = directives.get(token)?.includes("unhandled") ?? false;
    for (const { message } of found) {
      const { state, reason, runId, tried } = message;
      const hasFailed = state === "failed" && runId === undefined;
      if (isUnhandled && !hasFailed) yield broken("M48", `${token} cannot be handled, but is ${state}: ${reason}`);
      if (!isUnhandled && hasFailed) yield broken("M48", `${token} failed, though nothing is wrong with it: ${reason}`);
      if (hasFailed && tried?.times !== TIMES) yield broken("M48", `${token} failed after ${tried?.times ?? 0} tries`);
    }
  }
  for (const { agent, messages } of listed) {
    for (const { seq, body, state, reason, tried } of messages) {
      if (body.kind !== "command") continue;
      const what = `${agent.id} ${seq} (/${body.name} ${body.text})`;
      if (state === "waiting") yield broken("M48", `${what} still waits`);
      if (body.name === "memory" && state !== "failed")
        yield broken("M48", `${what} throws, but is ${state}: ${reason}`);
      if (body.name === "queue" && state !== "recorded") yield broken("M48", `${what} is ${state}: ${reason}`);
      if (state === "failed" && tried?.times !== TIMES)
        yield broken("M48", `${what} failed after ${tried?.times ?? 0} tries`);
    }
  }
}
