/** Which directories an agent may use and whether it may reach the network: a message can carry a change of them. */
import { z } from "zod";

export const permissionsSchema = z.looseObject({
  workingDir: z.string().optional(),
  writeDirs: z.array(z.string()).optional(),
  readDirs: z.array(z.string()).optional(),
  network: z.boolean().optional(),
});
