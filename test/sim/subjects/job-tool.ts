/** A message makes its agent schedule a job, as the program's own tool does. The job's text carries the mark of that message. */
import { z } from "zod";
import { makerOf } from "../../../src/adapters/tools/schedules/cron-access.ts";
import type { Clock } from "../../../src/core/ports/clock.ts";
import type { Tool } from "../../../src/core/ports/tool.ts";
import type { CronService } from "../../../src/engine/triggers/cron/cron-service.ts";
import { tokenText } from "../world/tokens.ts";

const input = z.object({ token: z.string() });

const DUE_MS = 1_500;

export const jobTool = (cron: CronService, clock: Clock): Tool<z.infer<typeof input>> => ({
  name: "sim_job",
  description: "Schedules a job.",
  input,
  rights: ["schedule"],
  replay: "safe",
  parallel: false,
  maxOutput: 1_000,
  async execute({ token }, { agent }) {
    const at = new Date(clock.now() + DUE_MS).toISOString();
    const { ops } = cron.addOps(
      {
        name: `job of ${token}`,
        schedule: { kind: "at", at },
        sessionTarget: "isolated",
        payload: { kind: "agentTurn", message: tokenText(`j${token.slice(1)}`) },
        deleteAfterRun: true,
      },
      await makerOf(cron, agent),
    );
    return { content: [{ type: "text", text: "scheduled" }], ops };
  },
});
