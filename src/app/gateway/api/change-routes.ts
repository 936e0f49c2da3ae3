/** Changes of prompt files, notes, skills and the configuration: list, show, make and undo. Only the owner does any of it. */
import { z } from "zod";
import type { FileChanges } from "../../../adapters/workspace/changes/file-changes.ts";
import { checkConfig } from "../../../config/parse-config.ts";
import { NotFoundError } from "../../../core/errors.ts";
import {
  CHANGE_KINDS,
  type ChangeAuthor,
  type ChangeKind,
  type FileChange,
  fileVersionSchema,
} from "../../../core/file-change.ts";
import { unifiedDiff } from "../../../core/line-diff.ts";
import { listOf } from "../../../core/list.ts";
import { actorOf, assertOwner } from "../auth/actor.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import {
  changeKindSchema,
  fileChangeSchema,
  keptFileSchema,
  shownChangeSchema,
  writtenChangeSchema,
} from "../schemas/file.ts";
import { listSchema, pageSchema } from "../schemas/list.ts";
import { limitQuery, nextOf, numberQuery } from "./params.ts";

const file = z.string().min(1).max(4_096);
const changeParams = z.object({
  change: z
    .string()
    .regex(/^\d{1,15}$/, "a change has a number")
    .transform(Number),
});
/** Longer texts are not compared: it would take too long. */
const MAX_COMPARED = 1_000_000;
const MAX_DIFF = 200_000;

const listRoute = defineRoute({
  name: "listChanges",
  method: "GET",
  path: "/api/changes",
  access: "operate",
  action: "manage.changes",
  tag: "changes",
  summary: "List changes of prompt files, notes, skills and the configuration, the newest first",
  query: z.strictObject({
    limit: limitQuery(500, 50),
    before: numberQuery(),
    file: file.optional(),
    kind: z.enum(CHANGE_KINDS).optional(),
  }),
  output: pageSchema(fileChangeSchema, "before", z.number()),
  async handle({ context, principal, query }) {
    assertOwner(principal);
    const items = await changesOf(context).list(query);
    return {
      json: listOf(
        items,
        nextOf(items, query.limit, ({ id }) => id),
      ),
    };
  },
});

const filesRoute = defineRoute({
  name: "listKeptFiles",
  method: "GET",
  path: "/api/changes/files",
  access: "operate",
  action: "manage.changes",
  tag: "changes",
  summary: "List the prompt files, notes and skills there are now",
  output: listSchema(keptFileSchema),
  async handle({ context, principal }) {
    assertOwner(principal);
    return { json: listOf(await changesOf(context).files()) };
  },
});

const fileRoute = defineRoute({
  name: "getKeptFile",
  method: "GET",
  path: "/api/changes/file",
  access: "operate",
  action: "manage.changes",
  tag: "changes",
  summary: "The text of one of these files as it is now; not of the configuration, which may contain secrets",
  query: z.strictObject({ file }),
  output: z.strictObject({
    file: z.string(),
    kind: changeKindSchema,
    text: z.string().nullable().optional().describe("Null if there is no file; absent for the configuration."),
    version: fileVersionSchema.nullable().describe("Null if there is no file."),
  }),
  async handle({ context, principal, query }) {
    assertOwner(principal);
    const { kind, text, version, file: name } = await changesOf(context).current(query.file);
    return { json: { file: name, kind, text: kind === "config" ? undefined : text, version } };
  },
});

const showRoute = defineRoute({
  name: "getChange",
  method: "GET",
  path: "/api/changes/:change",
  access: "operate",
  action: "manage.changes",
  tag: "changes",
  summary: "One change with its difference; of the configuration, with secrets masked",
  params: changeParams,
  output: shownChangeSchema,
  async handle({ context, principal, params }) {
    assertOwner(principal);
    const changes = changesOf(context);
    const change = await changes.get(params.change);
    return { json: { ...change, diff: await diffOf(changes, change) } };
  },
});

const writeRoute = defineRoute({
  name: "writeFile",
  method: "POST",
  path: "/api/changes",
  access: "admin",
  action: "manage.changes",
  tag: "changes",
  summary: "Change one of these files; with `dryRun` only show the difference",
  example: { file: "workspace/USER.md", text: "She lives in Bern.\n", why: "moved" },
  body: z.strictObject({
    file,
    /** Null removes the file. */
    text: z
      .string()
      .max(8 * 1024 * 1024)
      .nullable(),
    why: z.string().trim().min(1).max(1_000).optional(),
    /** The hash of the version that was read; null: there was no file. */
    expect: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable()
      .optional(),
    dryRun: z.boolean().optional(),
  }),
  output: writtenChangeSchema,
  errors: { 409: "The file has changed." },
  async handle({ context, principal, surface, body }) {
    assertOwner(principal);
    const changes = changesOf(context);
    const { kind, text, file: name } = await changes.current(body.file);
    const diff = difference(kind, text, body.text, name);
    if (body.dryRun) return { json: { file: name, kind, diff } };
    const by = authorOf({ principal, surface });
    const made = await changes.write(name, body.text, { by, why: body.why, expect: body.expect });
    if (made && kind === "config") await reloaded(context);
    return { json: { ...(made ?? { file: name, kind }), diff } };
  },
});

const undoRoute = defineRoute({
  name: "undoChange",
  method: "POST",
  path: "/api/changes/:change/undo",
  access: "admin",
  action: "manage.changes",
  tag: "changes",
  summary: "Undo a change: the file gets its content from before, as another change",
  params: changeParams,
  output: fileChangeSchema.extend({
    state: z.enum(["begun", "done", "failed"]),
    undoneBy: z.number().optional().describe("The change that has taken this one back."),
    diff: z.string().nullable(),
  }),
  errors: { 409: "The file was changed since." },
  async handle({ context, principal, surface, params }) {
    assertOwner(principal);
    const changes = changesOf(context);
    const made = await changes.undo(params.change, authorOf({ principal, surface }));
    if (made.kind === "config") await reloaded(context);
    return { json: { ...made, diff: await diffOf(changes, made) } };
  },
});

export const changeRoutes: readonly Route[] = [listRoute, filesRoute, fileRoute, showRoute, writeRoute, undoRoute];

function changesOf({ changes }: GatewayContext): FileChanges {
  if (changes) return changes;
  throw new NotFoundError("This engine has no prompt files or notes.");
}

export function authorOf({ principal, surface }: Pick<Call, "principal" | "surface">): ChangeAuthor {
  const { person, surface: at } = actorOf(principal, surface);
  return { person, surface: at ?? "api" };
}

/** A process that cannot reload reads the file at its next start. */
const reloaded = (context: GatewayContext): Promise<unknown> => context.reload().catch(() => undefined);

async function diffOf(changes: FileChanges, change: FileChange): Promise<string | null> {
  const { before, after } = await changes.textsOf(change);
  if (before === undefined || after === undefined) return null;
  return difference(change.kind, before, after, change.file);
}

function difference(kind: ChangeKind, before: string | null, after: string | null, name: string): string | null {
  const [was, is] = kind === "config" ? [masked(before), masked(after)] : [before, after];
  if (was === undefined || is === undefined) return null;
  if ((was?.length ?? 0) > MAX_COMPARED || (is?.length ?? 0) > MAX_COMPARED) return null;
  const diff = unifiedDiff(was, is, name);
  return diff.length > MAX_DIFF ? `${diff.slice(0, MAX_DIFF)}\n…` : diff;
}

/** The configuration that a text means, without secrets. Undefined if it cannot be read. */
function masked(text: string | null): string | null | undefined {
  if (text === null) return null;
  const { config } = checkConfig({ text, file: "", env: {} });
  return config && `${JSON.stringify(config, null, 2)}\n`;
}
