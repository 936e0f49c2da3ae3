/** `diagnose`: what waits, what runs, what failed and why, for the system agent that explains it. Reads only, tells no texts. */
import { z } from "zod";
import type { Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { jsonOutput } from "./json-output.ts";

const input = z.object({});

export const diagnoseTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "diagnose",
  description: "Lists what waits, what runs, who waits for whom, what failed, and who cannot be restored.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 40_000,
  execute: async () => jsonOutput(await deps.diagnose()),
});
