/**
 * Finds the files that a request may use. A person reaches the own ones; a token that may operate reaches all. A file that may not be reached
 * and one that does not exist get the same answer.
 */
import type { FileReference } from "../../../core/file-reference.ts";
import { referenceTo, type StoredFile } from "../../../core/message/stored-file.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import type { PersonId } from "../../../core/people/person.ts";
import { holds } from "../../../core/rights/scope.ts";
import { type FileService, noFile } from "../../../engine/files/file-service.ts";
import { seesPerson } from "../auth/judge-request.ts";
import { isConfined, type Principal } from "../auth/principal.ts";
import { behalfOf, speakerOf } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";

/** The part of a call that says which files it may use. */
interface WithFiles {
  readonly context: { readonly agents: { readonly files: FileService | undefined } };
}
type Asking = WithFiles & { readonly principal: Principal };

/** The limit of one message. */
export const MAX_FILES = 20;

/** Throws a 503 if this process only carries out a command and stores no files. */
export function filesOf({ context }: WithFiles): FileService {
  const { files } = context.agents;
  if (files) return files;
  throw new HttpError(503, "no_files", "Files need a running engine.", { hint: "Start it with `rookery serve`." });
}

/** The person whose files a request names: the user, the token's person, or the account of the token itself. */
export const personOfFiles = (principal: Principal, user: string | undefined): PersonId =>
  speakerOf(principal, user)?.person ?? behalfOf(principal).person;

/** Throws a 404 too if the request may not use the file. */
export async function requireFile(call: Asking, id: string, user?: string): Promise<StoredFile> {
  const file = await filesOf(call).get(id);
  if (mayUse(call.principal, file.behalf.person, user)) return file;
  throw noFile(id);
}

/** Whether the request may use the files of this person. */
export function mayUse(principal: Principal, person: PersonId, user: string | undefined): boolean {
  if (person === personOfFiles(principal, user)) return true;
  return isConfined(principal) ? seesPerson(principal, person) : holds(principal.scopes, "operate");
}

/** The digests of the files of a message, as its identity has them (M18). */
export async function fileDigests(
  call: Asking,
  ids: readonly string[] | undefined,
  user?: string,
): Promise<readonly string[] | undefined> {
  if (!ids || ids.length === 0) return undefined;
  return Promise.all([...new Set(ids)].map(async (id) => (await requireFile(call, id, user)).sha));
}

/** The files of a message. One of another person becomes one of the message's person too, and counts for both. */
export async function messageFiles(
  call: Asking,
  ids: readonly string[] | undefined,
  { behalf, user }: { readonly behalf: Behalf; readonly user?: string },
): Promise<FileReference[] | undefined> {
  if (!ids || ids.length === 0) return undefined;
  const files: FileReference[] = [];
  for (const id of new Set(ids)) {
    const file = await requireFile(call, id, user);
    files.push(referenceTo(await filesOf(call).share(file, { person: behalf.person })));
  }
  return files;
}
