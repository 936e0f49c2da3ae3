/** Whose spending something counts as, and what that person's record allows in a day, with the records of now. */
import { type Budgets, isLimited, limitOf } from "../../core/budget/budget.ts";
import type { Directory } from "../people/directory.ts";

export const personNow =
  (directory: Pick<Directory, "recent">): Budgets["personNow"] =>
  async (person) => {
    const people = await directory.recent();
    // An account that was linked to a record since then counts for the record.
    const id = people.personOf(person);
    const { tokensPerDay, dollarsPerDay, messagesPerDay } = people.record(id)?.limits ?? {};
    const limit = limitOf({ tokens: tokensPerDay, dollars: dollarsPerDay, messages: messagesPerDay });
    return { id, limit: isLimited(limit) ? limit : undefined };
  };
