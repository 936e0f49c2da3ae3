/** `diagnose`: what waits, runs and failed, and why, for the system agent that explains it. Reads only; contains no message texts. */
import { z } from "zod";
import type { Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { jsonOutput } from "./json-output.ts";

const input = z.strictObject({});

export const diagnoseTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "diagnose",
  description:
    "Lists what waits, what runs, which agents wait for each other, what failed, and which agents cannot be restored.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 40_000,
  execute: async () => jsonOutput(await deps.diagnose()),
});
