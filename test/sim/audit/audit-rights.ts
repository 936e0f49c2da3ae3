/**
 * Each execution of a tool that needs a grant has an intent of its own, and the right was valid at the place of that intent in the
 * order of the store (L13). Judged by the changes that the store applied and by what the tool recorded.
 */
import type { Person } from "../subjects/subject.ts";
import { OWNER_USER } from "../world/approvers.ts";
import { GRANTED_TOOL } from "../world/revocations.ts";
import { broken, isResumption, type View, type Violation } from "./audit-view.ts";

export function* rights(view: View): Iterable<Violation> {
  if (!view.scenario.rights) return;
  const people = new Map<string, Person>();
  for (const item of view.workload.items) if (item.kind === "message") people.set(item.token, item.conversation);
  const granted = new Set<string>();
  /** The calls that a run's record says are started. */
  const started = new Map<string, ReadonlySet<string>>();
  const intents = new Map<string, number>();
  for (const { change } of view.applied) {
    for (const op of change.ops) {
      if (op.op === "person.put") {
        for (const account of op.person.accounts) {
          if (op.person.grants.length > 0) granted.add(account);
          else granted.delete(account);
        }
      }
      if (op.op !== "run.step") continue;
      const before = started.get(op.runId) ?? new Set();
      const now = op.body.calls.filter(({ state }) => state === "intended");
      started.set(op.runId, new Set(now.map(({ callId }) => callId)));
      for (const { callId, name, arguments: given } of now) {
        // A resumed run starts its calls again.
        if (name !== GRANTED_TOOL || (before.has(callId) && !isResumption(change))) continue;
        const key = `${op.runId} ${callId}`;
        intents.set(key, (intents.get(key) ?? 0) + 1);
        const { channel = "", user = "" } = people.get(String(given.token)) ?? {};
        if (user === OWNER_USER || granted.has(`${channel}:${user}`)) continue;
        yield broken("L13", `${name} for ${String(given.token)} was started at ${change.site} without the right`);
      }
    }
  }
  for (const { tool, runId, callId, token } of view.executions) {
    if (tool !== GRANTED_TOOL) continue;
    const key = `${runId} ${callId}`;
    const left = (intents.get(key) ?? 0) - 1;
    intents.set(key, left);
    if (left < 0) yield broken("L13", `${tool} for ${token} was executed more often than it was judged`);
  }
}
