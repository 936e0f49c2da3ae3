/** What a value of `session.dmScope` would leave behind, for commands that check or change the configuration. */
import { existsSync } from "node:fs";
import type { DmScope } from "../../core/agent/session-key.ts";
import { withApi } from "./client/with-api.ts";
import type { CommandContext } from "./command.ts";

/** Undefined if nothing, or if no store can be read: then the engine warns when it takes the value. */
export async function scopeWarning(context: CommandContext, scope: DmScope): Promise<string | undefined> {
  if (!existsSync(context.paths.database) && context.paths.sharedStore === undefined) return undefined;
  try {
    const path = `/api/carry-over?${new URLSearchParams({ scope })}`;
    const { warning } = (await withApi(context, (api) => api.ask({ method: "GET", path }), { reads: true })) as {
      warning: string | null;
    };
    return warning === null ? undefined : `${warning} \`rookery sessions carry-over --to ${scope}\` carries them over.`;
  } catch {
    return undefined;
  }
}
