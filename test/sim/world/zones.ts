/** The time zones a world can be configured with. The world and the auditor use the same table. */

/** The zones of a world, and how far their clocks are ahead of UTC. */
export const ZONES: Readonly<Record<string, number>> = {
  UTC: 0,
  "Etc/GMT-1": 3_600_000,
  "Etc/GMT+1": -3_600_000,
};
/** The hour in which jobs with an expression are due: the first of the world, in UTC. */
export const DUE_HOUR = 8;
