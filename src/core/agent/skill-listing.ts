/** What people see of skills: where each is, from where it was installed, and what an installation changes. */
import { z } from "zod";

export const skillSourceSchema = z
  .object({
    kind: z.enum(["directory", "tarball", "git", "package", "api"]),
    /** A path, an address, or a name. */
    at: z.string().min(1).max(2_000),
    /** A branch or tag. */
    ref: z.string().min(1).max(200).optional(),
    commit: z
      .string()
      .regex(/^[0-9a-f]{40,64}$/)
      .optional(),
    /** The name of the skill, where the source has several. */
    skill: z.string().max(64).optional(),
  })
  .readonly();
export type SkillSource = z.infer<typeof skillSourceSchema>;

export interface ListedSkill {
  readonly name: string;
  readonly description: string;
  readonly directory: string;
  /** The tools that it is limited to; null: no limit. */
  readonly tools: readonly string[] | null;
  /** `own`: not installed. `changed`: not as it was installed. */
  readonly state: "own" | "installed" | "changed";
  /** The hash of its whole content; null if it is not in the home or cannot be read whole. */
  readonly hash: string | null;
  readonly source: SkillSource | null;
  readonly installedAt: number | null;
  /** Whether agents find it. */
  readonly used: boolean;
  readonly problems: readonly string[];
}

export interface FileDifference {
  readonly path: string;
  readonly is: "added" | "changed" | "removed";
  readonly bytes: number;
  /** In the unified form; null if it is not text, or too long. */
  readonly diff: string | null;
}

export interface InstallReport {
  readonly name: string;
  readonly description: string;
  readonly tools: readonly string[] | null;
  readonly hash: string;
  /** The hash of what was there before. */
  readonly before: string | null;
  /** What was there before was changed by hand, or was not installed. */
  readonly changedByHand: boolean;
  readonly files: readonly FileDifference[];
  /** What a reader does not see, such as invisible characters. */
  readonly warnings: readonly string[];
  /** The number of the change; null: nothing was changed. */
  readonly change: number | null;
}
