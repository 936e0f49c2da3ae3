/** Keys, by the providers' records: one life of a node never reuses a refused key, and no key before its limit is over. */
import { broken, type View, type Violation } from "./audit-view.ts";

export function* keys({ keyUses }: View): Iterable<Violation> {
  for (const answer of keyUses) {
    if (answer.answeredAt === undefined || answer.outcome === "answered") continue;
    for (const { process, key, startedAt } of keyUses) {
      if (process !== answer.process || key !== answer.key || startedAt <= answer.answeredAt) continue;
      if (answer.outcome === "refused") yield broken("keys", `${process} used ${key} again, which was refused`);
      else if (startedAt < answer.until)
        yield broken("keys", `${process} used ${key} ${answer.until - startedAt} ms before its limit is over`);
    }
  }
}
