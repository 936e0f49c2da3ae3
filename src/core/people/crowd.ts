/** What stands for more people and limits than can be kept with a message. */
import type { DayLimit } from "./behalf.ts";
import type { PersonId } from "./person.ts";

/** Stands for everyone beyond the limit: a stranger, so that leaving names out never adds rights. */
export const CROWD = "crowd:*" as PersonId;

/** Stands for every limit beyond the greatest number: it allows nothing, so that leaving limits out never adds to what may be spent (L8). */
export const CROWD_LIMIT: DayLimit = { of: "token", id: CROWD, tokens: 0 };
