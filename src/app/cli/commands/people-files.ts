/** `rookery people files`: lists the files of people; shows, writes out, stores or removes one. */
import { InvalidInputError } from "../../../core/errors.ts";
import type { FileInfo } from "../../client/files-resource.ts";
import { changing, reading } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { limitFlag } from "../number-flag.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { upTo } from "../up-to.ts";

const LIMIT = 100;
const USER = { user: { type: "string", value: "NAME", description: "whose files (default: yours)" } } as const;
const FILE = { usage: "<file id>", arguments: { min: 1, max: 1 } } as const;

const list = defineAction({
  summary: "list the files of a person, and how much of the quota they use",
  options: {
    ...USER,
    after: { type: "string", value: "ID", description: "start after this file" },
    limit: { type: "string", value: "N", description: `how many at most (default: ${LIMIT})` },
  },
  async run(context) {
    const { user, after: first, limit } = context.flags;
    const count = limitFlag(limit, LIMIT);
    const [page, usage] = await reading(context, ({ files }) =>
      Promise.all([upTo(count, first, (one, after) => files.list({ user, after, limit: one })), files.usage({ user })]),
    );
    const used = `${sizeText(usage.usedBytes)} of ${sizeText(usage.quotaBytes)} used.`;
    return printList(context, { ...page, more: { usage }, line, empty: "No files.", after: [used] });
  },
});

const show = defineAction({
  summary: "show one file: type, size, and what models are shown of it",
  ...FILE,
  options: USER,
  async run(context) {
    const {
      bytes: _,
      text: __,
      ...file
    } = await reading(context, ({ files }) => files.get(context.args[0] ?? "", { user: context.flags.user }));
    return printResult(context, file, details(file));
  },
});

const get = defineAction({
  summary: "write the content of a file to standard output, or into a new file",
  ...FILE,
  description: "With --out an existing file is never overwritten.",
  options: { ...USER, out: { type: "string", value: "PATH", description: "write it here" } },
  async run(context) {
    const { args, flags, stdout, json } = context;
    const { file, bytes } = await reading(context, async ({ files }) => {
      const found = await files.get(args[0] ?? "", { user: flags.user });
      return { file: found, bytes: await found.bytes() };
    });
    if (flags.out !== undefined) {
      await writeNew(flags.out, bytes);
      return printResult(context, { file: flags.out, size: bytes.length }, flags.out);
    }
    if (json) {
      const content = Buffer.from(bytes).toString("base64");
      return printResult(context, { id: file.id, name: file.name, base64: content }, "");
    }
    if (!file.mimeType.startsWith("text/") && stdout.isTTY) {
      throw new InvalidInputError(`${file.name} is not a text (${file.mimeType}).`, {
        hint: "Write it into a file with --out PATH.",
      });
    }
    if (file.mimeType.startsWith("text/")) stdout.write(new TextDecoder().decode(bytes));
    else process.stdout.write(bytes);
    return undefined;
  },
});

const add = defineAction({
  summary: "store a file; name its id in a message, or it is removed after a day",
  usage: "<path>",
  arguments: { min: 1, max: 1 },
  options: { ...USER, name: { type: "string", value: "NAME", description: "its name (default: that of the path)" } },
  async run(context) {
    const { fileFromPath } = await import("../../library/file-from-path.ts");
    const path = context.args[0] ?? "";
    const { user } = context.flags;
    const given = await fileFromPath(path).catch((cause: Error) => {
      throw new InvalidInputError(`${path} cannot be read: ${cause.message}.`, { cause, hint: "Check the path." });
    });
    const name = context.flags.name ?? given.name;
    const file = await changing(context, ({ files }) => files.put(given.data, { name, user }));
    return printResult(context, file, line(file));
  },
});

const remove = defineAction({
  summary: "remove a file; models read that it is gone",
  ...FILE,
  options: USER,
  async run(context) {
    const id = context.args[0] ?? "";
    await changing(context, ({ files }) => files.remove(id, { user: context.flags.user }));
    return printResult(context, { id }, `${id} is removed.`);
  },
});

export const filesGroup: Group = {
  summary: "list, show, get, add and remove files of people",
  description:
    "A file belongs to a person and counts towards that person's quota. What nothing refers to is removed after a day.",
  actions: { list, show, get, add, remove },
  fallback: "list",
};

const sizeText = (bytes: number): string =>
  bytes < 1_000
    ? `${bytes} B`
    : bytes < 1_000_000
      ? `${(bytes / 1_000).toFixed(1)} kB`
      : `${(bytes / 1_000_000).toFixed(1)} MB`;

const line = ({ id, name, mimeType, size, createdAt }: FileInfo): string =>
  `${id}  ${timeText(createdAt)}  ${sizeText(size).padStart(8)}  ${oneLine(mimeType, 40)}  ${oneLine(name, 80)}`;

function details({ id, name, mimeType, size, sha256, createdAt, as, characters, why }: FileInfo): string {
  const shown = as === "text" ? `text, ${characters ?? 0} characters` : as;
  return [
    `id       ${id}`,
    `name     ${oneLine(name, 200)}`,
    `type     ${oneLine(mimeType, 80)}`,
    `size     ${size} bytes`,
    `sha256   ${sha256}`,
    `stored   ${timeText(createdAt)}`,
    `models   are shown: ${shown}${why ? ` (${oneLine(why, 200)})` : ""}`,
  ].join("\n");
}

async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  const { writeFile } = await import("node:fs/promises");
  try {
    await writeFile(path, bytes, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    const isThere = (cause as { code?: unknown }).code === "EEXIST";
    const what = isThere ? "already exists and was not changed" : `cannot be written: ${(cause as Error).message}`;
    throw new InvalidInputError(`${path} ${what}.`, { cause, hint: "Choose another path." });
  }
}
