/** Whether forgetting a person was begun and not ended. Asked at every start, so it does not load the work itself. */
import type { Ports } from "../../../core/ports/ports.ts";

/** Plans of forgetting are facts whose key begins with this. */
export const PLANS = "forget:";
/** The fact that is set while the bytes of removed rows may still be in the database. */
export const COMPACT = "forget.compact";

export async function hasOpenForgetting({ store }: Pick<Ports, "store">): Promise<boolean> {
  const [next] = (await store.eraser?.facts({ limit: 1, after: PLANS })) ?? [];
  return next?.key.startsWith(PLANS) === true || (await store.fact(COMPACT)) !== undefined;
}
