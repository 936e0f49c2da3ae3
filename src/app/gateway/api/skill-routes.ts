/** Skills: list, show, install and remove. Only the owner does any of it: a skill is what agents read as instructions. */
import { homedir } from "node:os";
import { z } from "zod";
import { guardedFilesOf } from "../../../adapters/workspace/guarded-workspace-files.ts";
import { openFileMarks } from "../../../adapters/workspace/open-file-marks.ts";
import { installSkill, noSkill, removeSkill } from "../../../adapters/workspace/skills/home-skills.ts";
import { listSkills } from "../../../adapters/workspace/skills/list-skills.ts";
import { MAX_FILES, MAX_SKILL, textOf } from "../../../adapters/workspace/skills/skill-bundle.ts";
import { readSkill } from "../../../adapters/workspace/skills/skill-directory.ts";
import { skillSourceSchema } from "../../../core/agent/skill-listing.ts";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { assertOwner } from "../auth/actor.ts";
import { largestBody } from "../auth/request-policy.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { installReportSchema, listedSkillSchema, skillFileSchema } from "../schemas/file.ts";
import { listSchema } from "../schemas/list.ts";
import { authorOf } from "./change-routes.ts";

const nameParams = z.object({ skill: z.string().min(1).max(64) });

const path = z.string().min(1).max(400);
const fileSchema = z.union([
  z.strictObject({ path, text: z.string().max(MAX_SKILL) }),
  z.strictObject({ path, base64: z.base64().max(2 * MAX_SKILL) }),
]);

const listRoute = defineRoute({
  name: "listSkills",
  method: "GET",
  path: "/api/skills",
  access: "operate",
  action: "manage.skills",
  tag: "skills",
  summary: "List the skills of all places, and what is wrong with them",
  output: listSchema(listedSkillSchema),
  async handle({ context, principal }) {
    assertOwner(principal);
    return { json: listOf(await listed(context)) };
  },
});

const showRoute = defineRoute({
  name: "getSkill",
  method: "GET",
  path: "/api/skills/:skill",
  access: "operate",
  action: "manage.skills",
  tag: "skills",
  summary: "The skill that agents find by a name, with its files",
  params: nameParams,
  output: listedSkillSchema.extend({ files: z.array(skillFileSchema) }),
  async handle({ context, principal, params }) {
    assertOwner(principal);
    const skill = (await listed(context)).find(({ name, used }) => name === params.skill && used);
    if (!skill) throw new NotFoundError(`There is no skill "${params.skill}".`, { hint: "Run `rookery skills list`." });
    const files = [...((await readSkill(skill.directory)) ?? [])].map(([path, bytes]) => {
      const text = textOf(bytes);
      return text === undefined ? { path, base64: bytes.toString("base64") } : { path, text };
    });
    return { json: { ...skill, files } };
  },
});

const installRoute = defineRoute({
  name: "installSkill",
  method: "POST",
  path: "/api/skills",
  access: "admin",
  action: "manage.skills",
  tag: "skills",
  summary: "Install a skill into the home, or replace it; with `dryRun` only check it and show the difference",
  example: {
    files: [{ path: "SKILL.md", text: "---\nname: tea\ndescription: Makes tea.\n---\n\nBoil water.\n" }],
  },
  maxBody: (config) => Math.min(2 * MAX_SKILL, largestBody(config)),
  body: z.strictObject({
    files: z.array(fileSchema).min(1).max(MAX_FILES),
    source: skillSourceSchema.unwrap().strict().optional(),
    /** The hash of the content that was seen; null: there was none. */
    expect: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable()
      .optional(),
    replace: z.boolean().optional(),
    dryRun: z.boolean().optional(),
  }),
  output: installReportSchema,
  errors: { 409: "It was changed by hand." },
  async handle({ context, principal, surface, body }) {
    assertOwner(principal);
    const { files, source = { kind: "api", at: "api" }, ...more } = body;
    const by = authorOf({ principal, surface });
    return { json: await installSkill(partsOf(context), { ...more, files: filesOf(files), source, by }) };
  },
});

const removeRoute = defineRoute({
  name: "removeSkill",
  method: "DELETE",
  path: "/api/skills/:skill",
  access: "admin",
  action: "manage.skills",
  tag: "skills",
  summary: "Remove a skill of the home; the change can be undone",
  params: nameParams,
  output: z.strictObject({ name: z.string(), change: z.number() }),
  async handle({ context, principal, surface, params }) {
    assertOwner(principal);
    return { json: await removeSkill(partsOf(context), params.skill, authorOf({ principal, surface })) };
  },
});

export const skillRoutes: readonly Route[] = [listRoute, showRoute, installRoute, removeRoute];

const listed = ({ paths, settings }: GatewayContext) =>
  listSkills({
    paths,
    workspaces: guardedFilesOf(settings.current, paths).roots,
    userHome: homedir(),
    marks: openFileMarks(paths),
  });

function partsOf({ changes, paths, ports }: GatewayContext) {
  if (!changes) throw noSkill("");
  return { changes, paths, now: () => ports.clock.now() };
}

function filesOf(files: readonly z.infer<typeof fileSchema>[]): ReadonlyMap<string, Buffer> {
  const all = new Map(
    files.map((file) => [
      file.path,
      Buffer.from("text" in file ? file.text : file.base64, "text" in file ? "utf8" : "base64"),
    ]),
  );
  if (all.size < files.length)
    throw new InvalidInputError("Two files have the same path.", { hint: "Nothing was changed." });
  return all;
}
