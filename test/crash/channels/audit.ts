/** What people were given and see, compared with the store: nothing lost, nothing doubled, and what is not sure is listed. */
import { openDatabase } from "../../../src/adapters/store/sqlite/database.ts";
import type { CrashReport } from "../target.ts";

export interface Seen {
  /** What people said, each with a mark of its own. */
  readonly tokens: readonly string[];
  /** What people see. */
  readonly shown: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  /** How many marks may be missing because the platform cannot bring them again. */
  readonly mayBeLost?: ReadonlySet<string>;
}

export function auditChannel(file: string, { tokens, shown: texts, counts, mayBeLost }: Seen): CrashReport {
  const db = openDatabase(file, { readOnly: true });
  const problems: string[] = [];
  let gap = 0;
  try {
    const rows = db.all<{ state: string; payload: string }>("SELECT state, payload FROM deliveries");
    const messages = db.all<{ state: string; message: string }>("SELECT state, message FROM messages");
    const open = rows.filter(({ state }) => state === "pending" || state === "sending").length;
    if (open > 0) problems.push(`${open} deliveries have not ended`);
    const unsure = rows
      .filter(({ state }) => state === "unconfirmed" || state === "failed")
      .map(({ payload }) => payload);
    const stopped = messages.filter(({ state }) => state === "aborted").map(({ message }) => message);
    const waiting = messages.filter(({ state }) => state === "waiting" || state === "taken").length;
    if (waiting > 0) problems.push(`${waiting} messages are not settled`);
    for (const one of tokens) {
      const stored = messages.filter(({ message }) => message.includes(one)).length;
      if (stored === 0 && mayBeLost?.has(one)) {
        gap += 1;
        continue;
      }
      if (stored !== 1) problems.push(`${one} was stored ${stored} times`);
      const shown = texts.filter((text) => text.includes(one)).length;
      if (shown > 1) problems.push(`${one} was answered ${shown} times`);
      const excused = unsure.some((text) => text.includes(one)) || stopped.some((text) => text.includes(one));
      if (shown === 0 && !excused) problems.push(`${one} was not answered, and is not listed`);
    }
    const more = {
      messages: tokens.length,
      answers: texts.length,
      unconfirmed: unsure.length,
      stopped: stopped.length,
    };
    return { problems, counts: { ...counts, ...more, ...(mayBeLost && { "lost in the documented gap": gap }) } };
  } finally {
    db.close();
  }
}
