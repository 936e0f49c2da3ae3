/** The directories an agent may use, and whether it may use the network. A message can change them. */
import { z } from "zod";

export const permissionsSchema = z.looseObject({
  workingDir: z.string().optional(),
  writeDirs: z.array(z.string()).optional(),
  readDirs: z.array(z.string()).optional(),
  network: z.boolean().optional(),
});
