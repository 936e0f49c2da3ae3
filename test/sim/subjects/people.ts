/** The people of the world, as the program is configured. */

/** More people than any scenario has. */
const MAX_PEOPLE = 200;

/**
 * The accounts of the owner on a channel. The first person of the workload is the owner: schedules speak to this person. Everyone
 * else is a guest, unless `all` are the owner.
 */
export const ownersOn = (channel: string, all: boolean): readonly string[] =>
  Array.from({ length: all ? MAX_PEOPLE : 1 }, (_, n) => `${channel}:u${n + 1}`);
