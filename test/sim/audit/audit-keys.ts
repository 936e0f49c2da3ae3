/** Keys, as their providers see them: one life of a node uses none again that was refused, and none before its limit is over. */
import { broken, type View, type Violation } from "./audit-view.ts";

export function* keys({ keyUses }: View): Iterable<Violation> {
  for (const told of keyUses) {
    if (told.answeredAt === undefined || told.outcome === "answered") continue;
    for (const { process, key, startedAt } of keyUses) {
      if (process !== told.process || key !== told.key || startedAt <= told.answeredAt) continue;
      if (told.outcome === "refused") yield broken("keys", `${process} used ${key} again, which was refused`);
      else if (startedAt < told.until)
        yield broken("keys", `${process} used ${key} ${told.until - startedAt} ms before its limit is over`);
    }
  }
}
