/**
 * A change of a file that decides what agents do or know: a part of a prompt, a note, a skill, the configuration, what
 * makes git run programs in a repository. Each is kept with
 * its author and both versions, so that people can review it and undo it.
 */
import { z } from "zod";

export const CHANGE_KINDS = ["prompt", "memory", "skill", "config", "repository"] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export const fileVersionSchema = z
  .object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int().min(0) })
  .readonly();
/** A version of a file, named by its content. Null: there is no file. */
export type FileVersion = z.infer<typeof fileVersionSchema>;

export const changeAuthorSchema = z
  .object({
    /** A person's id; `unknown` for a change that was made outside of this program. */
    person: z.string().min(1),
    /** `run`, `control`, `api`, `cli`, or `outside`. */
    surface: z.string().min(1),
    agentId: z.string().optional(),
    runId: z.string().optional(),
    callId: z.string().optional(),
    tool: z.string().optional(),
  })
  .readonly();
export type ChangeAuthor = z.infer<typeof changeAuthorSchema>;

export const fileChangeSchema = z
  .object({
    id: z.int().min(1),
    at: z.int(),
    kind: z.enum(CHANGE_KINDS),
    /** Relative to the home; absolute if it is outside of it. */
    file: z.string().min(1),
    by: changeAuthorSchema,
    why: z.string().optional(),
    before: fileVersionSchema.nullable(),
    after: fileVersionSchema.nullable(),
    /** The change that this one takes back. */
    undoes: z.int().optional(),
  })
  .readonly();

/** `begun`: it is being made. `failed`: the file was not changed. */
export type ChangeState = "begun" | "done" | "failed";

export type FileChange = z.infer<typeof fileChangeSchema> & {
  readonly state: ChangeState;
  /** The change that has taken this one back. */
  readonly undoneBy?: number;
};

/** A file whose changes are kept, as it is now. */
export interface KeptFile {
  readonly file: string;
  readonly kind: ChangeKind;
  readonly bytes: number;
  readonly changedAt: number;
}

export interface ChangeFilter {
  readonly limit: number;
  /** Only older ones. */
  readonly before?: number;
  readonly file?: string;
  readonly kind?: ChangeKind;
}
