/**
 * Compares what a tool is about to do with what the gate has allowed. A name may mean another agent than a moment ago, when
 * the call was judged; then the call is refused, and the model may make it again (L13).
 */
import { DeniedError } from "../../core/errors.ts";
import type { ToolContext } from "../../core/ports/tool.ts";
import type { Effect } from "../../core/rights/decide.ts";

/** Throws `DeniedError` if one of these effects was not judged. Without a gate nothing is judged. */
export function checkAllowed({ allowed }: Pick<ToolContext, "allowed">, effects: readonly Effect[]): void {
  if (!allowed) return;
  const known = (one: Effect) => allowed.some(({ action, target }) => action === one.action && target === one.target);
  const other = effects.find((one) => !known(one));
  if (other)
    throw new DeniedError(`${other.target ?? other.action} was not allowed to this call.`, { hint: "Call again." });
}
