/** Notices that `session.dmScope` has changed, and says which conversations that leaves behind. Must not stop the engine. */
import type { Config } from "../../config/config-schema.ts";
import { errorText } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { carryPlan, carryWarning } from "../../engine/people/carry-over.ts";
import { noteScope } from "../../engine/people/conversation-book.ts";

export async function followScope(
  ports: Pick<Ports, "store" | "ids" | "clock" | "log">,
  config: Config,
): Promise<void> {
  try {
    const before = await noteScope(ports, config.session.dmScope);
    if (before === undefined) return;
    const warning = carryWarning(await carryPlan(ports, config), true);
    if (warning === undefined) return;
    ports.log.warn(`${warning} Run \`rookery sessions carry-over\` to decide.`, { before });
  } catch (error) {
    ports.log.warn("conversations of an earlier session.dmScope could not be looked up", { error: errorText(error) });
  }
}
