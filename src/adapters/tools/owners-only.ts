/**
 * Keeps the tools of schedules and of the heartbeat for the owner's agents: what they start later runs with the owner's rights.
 * The rule goes by name and right, so that it holds for a tool that is added later.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { DeniedError } from "../../core/errors.ts";
import type { Tool } from "../../core/ports/tool.ts";

const NAMES = /^(?:cron|heartbeat)/iu;

export const isOwnersOnly = ({ name, rights }: Pick<Tool, "name" | "rights">): boolean =>
  NAMES.test(name) || rights.includes("schedule");

/** The same tools; those of the owner throw `DeniedError` when another person's agent calls them. */
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
