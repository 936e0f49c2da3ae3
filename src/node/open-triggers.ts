/** The triggers of a node, from its configuration: the broker with its jobs, its gates and its zone. */
import type { Config } from "../config/config-schema.ts";
import type { HomePaths } from "../config/paths.ts";
import type { Ports } from "../core/ports.ts";
import { Triggers } from "../triggers/triggers.ts";
import { gateKeeper } from "../world/gate-keeper.ts";

export function openTriggers(
  ports: Pick<Ports, "clock" | "ids" | "store" | "log">,
  config: Config,
  paths: HomePaths,
  zone: string,
): Triggers {
  const { missed, maxLatenessMinutes, commandGates } = config.cron;
  const gates = gateKeeper({ commands: commandGates, cwd: paths.workspace });
  return new Triggers(
    { ...ports, gates },
    {
      zone,
      missed,
      mainKey: config.session.mainKey,
      ...(maxLatenessMinutes === undefined ? {} : { maxLatenessMs: maxLatenessMinutes * 60_000 }),
    },
  );
}
