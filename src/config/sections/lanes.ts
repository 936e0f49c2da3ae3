/** How many runs of each kind one node has active at a time. */
import { section, wholeNumber } from "../values.ts";

export const laneDefaults = { main: 32, subagent: 16, cron: 4, nested: 16 } as const;

const size = () => wholeNumber(1, 100_000);

export const lanesSchema = section({
  main: size().default(laneDefaults.main),
  subagent: size().default(laneDefaults.subagent),
  cron: size().default(laneDefaults.cron),
  nested: size().default(laneDefaults.nested),
}).prefault({});
