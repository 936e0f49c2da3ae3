/**
 * What people do at the inbox and the outbox. A message they drop is dropped once, by name, with a row of the audit log in the same
 * commit, and no model reads it (L1, L13). A delivery they edit is shown with the edited text, never with the one before (L5).
 */
import { tokensIn } from "../world/tokens.ts";
import { broken, type View, type Violation } from "./audit-view.ts";

export function* peopleActs(view: View): Iterable<Violation> {
  yield* drops(view);
  yield* edits(view);
}

const BY_PERSON = "dropped by ";

function* drops({ drops: asked, listed, calls, applied }: View): Iterable<Violation> {
  const done = new Set(asked.filter(({ answer }) => answer === "done").map(({ id }) => id));
  const open = new Set(asked.filter(({ answer }) => answer === undefined || answer === "unknown").map(({ id }) => id));
  const read = new Set(calls.flatMap(({ tokens }) => tokens));
  const audited = applied.flatMap(({ change: { ops } }) => {
    const rows = ops.flatMap((op) =>
      op.op === "audit.add" && op.entry.action === "message.drop" ? [op.entry.target] : [],
    );
    return ops.some(({ op }) => op === "message.drop") ? rows : [];
  });
  for (const { id, state, reason = "", body } of listed.flatMap(({ messages }) => messages)) {
    const isByPerson = state === "dropped" && reason.startsWith(BY_PERSON);
    if (done.has(id) && !isByPerson) yield broken("L1", `${id} was confirmed as dropped, but is ${state}: ${reason}`);
    if (!isByPerson) continue;
    if (!done.has(id) && !open.has(id)) yield broken("L1", `${id} was dropped, but no one asked for it`);
    const rows = audited.filter((target) => target === id).length;
    if (rows !== 1) yield broken("L13", `${id} was dropped with ${rows} rows of the audit log in its commit`);
    const seen = tokensIn("text" in body ? (body.text ?? "") : "", "t").filter((token) => read.has(token));
    if (seen.length > 0) yield broken("L1", `${id} was dropped, but the model has read ${seen.join(" ")}`);
  }
}

function* edits({ edits: asked, listed, sends }: View): Iterable<Violation> {
  const deliveries = new Map(listed.flatMap(({ deliveries: all }) => all).map((one) => [String(one.id), one]));
  for (const { id, text = "", answer } of asked) {
    if (answer !== "done") continue;
    const delivery = deliveries.get(id);
    const later = asked.slice(asked.findIndex((one) => one.text === text) + 1);
    // Another edit of the same delivery may have come since.
    if (later.some((one) => one.id === id && one.answer !== "refused")) continue;
    if (delivery?.payload.text !== text)
      yield broken("L5", `${id} was edited to "${text}", but has "${delivery?.payload.text}"`);
    const last = sends.get(id)?.at(-1);
    if (last?.shown && last.text !== text)
      yield broken("L5", `${id} was edited to "${text}", but was shown as "${last.text}"`);
  }
}
