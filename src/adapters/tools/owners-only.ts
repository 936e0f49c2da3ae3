/**
 * Restricts the schedule and heartbeat tools to the owner's agents, because scheduled runs have the owner's rights (L13). The
 * rule checks name and right, so that it also holds for new tools.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { DeniedError } from "../../core/errors.ts";
import type { Tool } from "../../core/ports/tool.ts";

const OWNERS_TOOLS = /^(?:cron|heartbeat)/iu;

export const isOwnersOnly = ({ name, rights }: Pick<Tool, "name" | "rights">): boolean =>
  OWNERS_TOOLS.test(name) || rights.includes("schedule");

/** The same tools. The restricted ones throw `DeniedError` for an agent that does not work for the owner. */
export const ownersOnly = (
  tools: readonly Tool[],
  worksForOwner: (agent: AgentRecord) => Promise<boolean>,
): readonly Tool[] =>
  tools.map((tool) => {
    if (!isOwnersOnly(tool)) return tool;
    return {
      ...tool,
      async execute(input, context) {
        if (await worksForOwner(context.agent)) return tool.execute(input, context);
        throw new DeniedError(`${tool.name} is denied: only the owner's agents can use schedules and the heartbeat.`, {
          hint: "Ask the owner to set it up.",
        });
      },
    };
  });
