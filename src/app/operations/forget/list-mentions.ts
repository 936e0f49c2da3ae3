/**
 * Where a forgotten person is still mentioned: other people's conversations, and files that belong to the owner or to no one. They are
 * listed for the owner, who decides. Backups are listed by name: they are not opened.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { hasWord } from "../../../adapters/store/has-word.ts";
import { backupDirectory } from "../../../config/paths.ts";
import type { AgentId } from "../../../core/ids.ts";
import { HOME_PARTS } from "../data/home-parts.ts";
import type { ForgetDeps } from "./forget-person.ts";
import { eraserOf, type ForgetPlan } from "./forget-plan.ts";

export interface Mention {
  /** A conversation, or a file of the home. */
  readonly kind: "conversation" | "file";
  /** The agent's id, or the path in the home. */
  readonly where: string;
  /** Of a conversation. */
  readonly sessionKey?: string;
  /** Messages and lines of history that mention the person. */
  readonly count?: number;
}

const AGENTS = 200;
const MOST_FILES = 20_000;
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_LISTED = 1_000;

export async function listMentions(
  deps: Pick<ForgetDeps, "ports" | "paths">,
  plan: ForgetPlan,
): Promise<{ readonly mentions: readonly Mention[]; readonly backups: readonly string[] }> {
  const texts = [...new Set([plan.person, ...plan.people, ...(plan.name === undefined ? [] : [plan.name])])];
  const mentions = [...(await inConversations(deps, texts)), ...(await inFiles(deps, texts))].slice(0, MOST_LISTED);
  const directory = backupDirectory(deps.paths);
  const backups = existsSync(directory) ? (await readdir(directory)).sort().map((name) => `backups/${name}`) : [];
  return { mentions, backups };
}

async function inConversations({ ports }: Pick<ForgetDeps, "ports">, texts: readonly string[]): Promise<Mention[]> {
  const found: Mention[] = [];
  for (let after: AgentId | undefined; ; ) {
    const page = await ports.store.agents({ limit: AGENTS, after });
    const keys = new Map(page.map(({ id, sessionKey }) => [id, sessionKey]));
    if (page.length > 0) {
      for (const { agentId, count } of await eraserOf(ports).mentions([...keys.keys()], texts))
        found.push({ kind: "conversation", where: agentId, sessionKey: keys.get(agentId), count });
    }
    if (page.length < AGENTS) return found;
    after = page.at(-1)?.id;
  }
}

/** Looks through the parts of the home whose mentions stay. Bounded: what is very large is not read. */
async function inFiles({ paths: { home } }: Pick<ForgetDeps, "paths">, texts: readonly string[]): Promise<Mention[]> {
  const found: Mention[] = [];
  let read = 0;
  const look = async (path: string): Promise<void> => {
    const facts = await stat(path).catch(() => undefined);
    if (!facts || read >= MOST_FILES) return;
    if (facts.isDirectory()) {
      for (const name of await readdir(path).catch(() => [])) await look(join(path, name));
      return;
    }
    read++;
    if (!facts.isFile() || facts.size > MOST_BYTES) return;
    const text = (await readFile(path)).toString("latin1");
    const words = texts.map((one) => Buffer.from(one).toString("latin1"));
    if (words.some((word) => hasWord(text, word))) found.push({ kind: "file", where: relative(home, path) });
  };
  for (const [name, { forget }] of Object.entries(HOME_PARTS))
    if (forget === "mentions are listed, not removed" && name !== "backups") await look(join(home, name));
  return found;
}
