/** The last entry of a backup: what the archive holds, so that a copy that was cut or changed is noticed. */
import { z } from "zod";

export const MANIFEST = "manifest.json";
/** The database in the archive. */
export const DATABASE = "rookery.db";

export const manifestSchema = z.object({
  format: z.literal(1),
  /** Of the program that made it. */
  version: z.string(),
  /** Of the database. */
  schema: z.number().int().positive(),
  createdAt: z.number().int(),
  /** When the state of the database was read: everything acknowledged before is in it. */
  snapshotAt: z.number().int(),
  store: z.enum(["home", "shared"]),
  /** Rows by table. */
  rows: z.record(z.string(), z.number().int().nonnegative()),
  files: z.array(z.object({ path: z.string(), size: z.number().int().nonnegative(), sha256: z.string().length(64) })),
  /** Files that the database names and that were not there. */
  missing: z.array(z.string()),
});
export type Manifest = z.infer<typeof manifestSchema>;
