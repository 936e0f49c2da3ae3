/**
 * Everything that is stored of a person as one compressed archive, for the person or before they are forgotten: record, conversations,
 * messages, jobs, files, notes and workspace. Text is JSON and JSON lines, files are as they were.
 */
import { existsSync } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { createGzip } from "node:zlib";
import { FILE_MODE } from "../../../config/paths.ts";
import { TooLargeError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import { TarWriter } from "../backup/tar-write.ts";
import { directoriesOf } from "./forget-home.ts";
import type { ForgetDeps } from "./forget-person.ts";
import { planOf } from "./forget-plan.ts";

/** The archive is built in memory. */
const MOST_BYTES = 512 * 1024 * 1024;
const PAGE = 500;

type ExportDeps = Pick<ForgetDeps, "ports" | "agents" | "paths" | "access">;
type Add = (path: string, content: Buffer | string) => Promise<void>;

/** Throws as `forgetPerson` does if there is nothing of the person. Changes nothing. */
export async function exportPerson(deps: ExportDeps, person: string): Promise<Uint8Array> {
  const plan = await planOf(deps, person);
  const { store, clock } = deps.ports;
  const chunks: Buffer[] = [];
  const gzip = createGzip();
  gzip.on("data", (chunk: Buffer) => chunks.push(chunk));
  let bytes = 0;
  const tar = new TarWriter(async (chunk) => {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw tooLarge();
    if (chunk.length > 0 && !gzip.write(chunk)) await new Promise((resolve) => gzip.once("drain", resolve));
  });
  const add: Add = async (path, given) => {
    const content = Buffer.from(given as string);
    const header = { path, mode: FILE_MODE, modifiedAt: clock.now() };
    await tar.file(header, content.length, once(content));
  };
  const record = (await store.person(person)) ?? null;
  await add("person.json", jsonOf({ person, accounts: plan.people, record, exportedAt: clock.now() }));
  await add("jobs.json", jsonOf(await Promise.all(plan.jobs.map(async (id) => (await store.job(id)) ?? { id }))));
  for (const id of plan.agents as AgentId[]) await addAgent(deps, id, add);
  await addFiles(deps, plan.people, add);
  for (const directory of directoriesOf(deps.paths, plan.people))
    if (existsSync(directory)) await addTree(directory, `workspace/${basename(directory)}`, add);
  await tar.end();
  await new Promise<void>((resolve) => gzip.end(resolve).once("end", resolve));
  return Buffer.concat(chunks);
}

async function addAgent({ ports: { store } }: ExportDeps, id: AgentId, add: Add): Promise<void> {
  const agent = await store.agent(id);
  if (!agent || agent.stopped?.removed) return;
  await add(`agents/${id}/agent.json`, jsonOf(agent));
  const lines: string[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await store.linesBack(id, { before, limit: PAGE });
    lines.push(...page.map(({ line }) => line));
    if (page.length < PAGE) break;
    before = page.at(-1)?.position ?? 0;
  }
  await add(`agents/${id}/history.jsonl`, linesOf(lines.reverse()));
  const messages: string[] = [];
  for (let beforeSeq = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await store.messages(id, { beforeSeq, limit: PAGE });
    messages.push(...page.map((message) => JSON.stringify(message)));
    if (page.length < PAGE) break;
    beforeSeq = page.at(-1)?.seq ?? 0;
  }
  await add(`agents/${id}/messages.jsonl`, linesOf(messages.reverse()));
}

async function addFiles({ ports: { store }, agents }: ExportDeps, people: readonly string[], add: Add): Promise<void> {
  for (const person of people) {
    for (let after: string | undefined; ; ) {
      const page = await store.files({ person, limit: PAGE, after });
      for (const file of page) {
        const bytes = await agents.files?.read(file);
        if (bytes) await add(`files/${file.id}/${file.name}`, Buffer.from(bytes));
      }
      if (page.length < PAGE) break;
      after = page.at(-1)?.id;
    }
  }
}

/** Links are left out: they may lead to what is not the person's. */
async function addTree(from: string, path: string, add: Add): Promise<void> {
  const facts = await lstat(from);
  if (facts.isDirectory()) {
    for (const name of (await readdir(from)).sort()) await addTree(join(from, name), `${path}/${name}`, add);
  } else if (facts.isFile()) await add(path, await readFile(from));
}

const jsonOf = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
const linesOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  if (content.length > 0) yield content;
}

const tooLarge = (): TooLargeError =>
  new TooLargeError("The person's data is larger than 512 MiB.", {
    hint: "Make a backup of the home instead, or copy the person's directory below people/ first.",
  });
