/** What exactly an effect touches: one command, one path, one host. Rules match against it; a question stores it (L13). */
import { z } from "zod";

export const effectDetailSchema = z.discriminatedUnion("kind", [
  /** One simple command of a line, quotes removed. */
  z
    .object({
      kind: z.literal("command"),
      argv: z.array(z.string()).readonly(),
      cwd: z.string(),
      /** Why it may start a program that a rule about its words does not mean. It asks. */
      starts: z.string().optional(),
    })
    .readonly(),
  /** A line that could not be split, and why. It asks. */
  z.object({ kind: z.literal("unparsed"), line: z.string(), cwd: z.string(), why: z.string() }).readonly(),
  z
    .object({
      kind: z.literal("path"),
      access: z.enum(["read", "write"]),
      /** Absolute and resolved. */
      path: z.string(),
      /** It is written in a directory that git accepts as a repository. */
      repository: z.boolean().optional(),
    })
    .readonly(),
  z.object({ kind: z.literal("host"), host: z.string(), port: z.number().int().optional() }).readonly(),
]);
export type EffectDetail = z.infer<typeof effectDetailSchema>;
