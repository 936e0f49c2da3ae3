/** Files, changes of files, and skills on the wire. */
import { z } from "zod";
import { skillSourceSchema } from "../../../core/agent/skill-listing.ts";
import { CHANGE_KINDS, fileChangeSchema as fileChangeRecordSchema } from "../../../core/file-change.ts";

export const fileInfoSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    mimeType: z.string(),
    size: z.number(),
    sha256: z.string(),
    createdAt: z.number(),
    as: z.enum(["image", "reference", "text"]),
    characters: z.number().optional(),
    why: z.string().optional(),
  })
  .meta({ id: "FileInfo" });
export const changeKindSchema = z.enum(CHANGE_KINDS);

export const fileChangeSchema = fileChangeRecordSchema
  .unwrap()
  .extend({
    state: z.enum(["begun", "done", "failed"]),
    undoneBy: z.number().optional().describe("The change that has taken this one back."),
  })
  .meta({ id: "FileChange" });

const diffSchema = z.string().nullable().describe("In the unified form; null if it cannot be shown.");

export const shownChangeSchema = fileChangeSchema.extend({ diff: diffSchema }).meta({ id: "ShownChange" });

export const writtenChangeSchema = fileChangeSchema
  .partial()
  .required({ file: true, kind: true })
  .extend({ diff: diffSchema })
  .meta({ id: "WrittenChange", description: "Without `id` if nothing was changed." });

export const keptFileSchema = z
  .strictObject({
    file: z.string(),
    kind: changeKindSchema,
    bytes: z.number(),
    changedAt: z.number(),
  })
  .meta({ id: "KeptFile" });

export const listedSkillSchema = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    directory: z.string(),
    tools: z.array(z.string()).nullable().describe("The tools that it is limited to; null: no limit."),
    state: z
      .enum(["changed", "installed", "own"])
      .describe("`own`: not installed. `changed`: not as it was installed."),
    hash: z
      .string()
      .nullable()
      .describe("The hash of its whole content; null if it is not in the home or cannot be read whole."),
    source: skillSourceSchema.nullable(),
    installedAt: z.number().nullable(),
    used: z.boolean().describe("Whether agents find it."),
    problems: z.array(z.string()),
  })
  .meta({ id: "ListedSkill" });

const fileDifferenceSchema = z
  .strictObject({
    path: z.string(),
    is: z.enum(["added", "changed", "removed"]),
    bytes: z.number(),
    diff: z.string().nullable().describe("In the unified form; null if it is not text, or too long."),
  })
  .meta({ id: "FileDifference" });

export const installReportSchema = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    tools: z.array(z.string()).nullable(),
    hash: z.string(),
    before: z.string().nullable().describe("The hash of what was there before."),
    changedByHand: z.boolean().describe("The earlier content was changed by hand, or was not installed."),
    files: z.array(fileDifferenceSchema),
    warnings: z.array(z.string()).describe("Parts that a reader does not see, such as invisible characters."),
    change: z.number().nullable().describe("The number of the change; null: nothing was changed."),
  })
  .meta({ id: "InstallReport" });

export const skillFileSchema = z
  .union([
    z.strictObject({ path: z.string(), text: z.string() }),
    z.strictObject({ path: z.string(), base64: z.string() }),
  ])
  .meta({ id: "SkillFile" });
