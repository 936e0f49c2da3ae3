/** A backup of an engine that answers 100 conversations: what was acknowledged before it began is in it, and nothing is twice. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { fakeModel, serve, TOKEN } from "./serving.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const CONVERSATIONS = 100;
const dir = mkdtempSync(join(tmpdir(), "rookery-backup-load-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Runs a command as a process of its own. */
async function command(...argv: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [MAIN, ...argv], { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const [code] = await once(child, "exit");
  expect(code, errors).toBe(0);
}

it("everything acknowledged before the backup began is restored once, while 100 conversations go on", async () => {
  const model = await fakeModel();
  const served = await serve(model);
  const acknowledged: string[] = [];
  let isOver = false;
  const post = async (user: string, text: string): Promise<void> => {
    const response = await fetch(`${served.url}/api/agents/agent:main:api:dm:${user}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ text }),
    });
    if (response.status === 202) acknowledged.push(text);
    else throw new Error(`${response.status}: ${await response.text()}`);
  };
  const talking = Array.from({ length: CONVERSATIONS }, async (_, n) => {
    for (let turn = 0; turn < 20 && !isOver; turn++) await post(`user${n}`, `word-${n}-${turn}-end`);
  });
  try {
    while (acknowledged.length < 2 * CONVERSATIONS) await new Promise((resolve) => setTimeout(resolve, 10));
    const before = [...acknowledged];
    const file = join(dir, "backup.tar.gz");
    await command("backup", file, "--home", served.home);
    isOver = true;
    await Promise.all(talking);
    expect(acknowledged.length).toBeGreaterThan(before.length);
    const home = join(dir, "restored");
    await command("backup", "restore", file, "--home", home);
    const db = new DatabaseSync(join(home, "rookery.db"), { readOnly: true });
    const texts = db
      .prepare("SELECT message FROM messages")
      .all()
      .map(({ message }) => String(message));
    const found = texts.flatMap((text) => /word-\d+-\d+-end/.exec(text)?.[0] ?? []);
    const users = texts.filter((text) => text.includes('"kind":"user"')).length;
    db.close();
    const missing = before.filter((word) => !found.includes(word));
    expect(missing).toEqual([]);
    expect(users).toBe(
      new Set(texts.filter((text) => text.includes('"kind":"user"')).map((text) => /word-\d+-\d+-end/.exec(text)?.[0]))
        .size,
    );
  } finally {
    isOver = true;
    await Promise.allSettled(talking);
    await served.stop();
    await model.close();
    rmSync(served.home, { recursive: true, force: true });
  }
});
