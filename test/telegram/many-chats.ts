/** Many chats write at once: the rates of the Bot API are kept, and a message costs little more than over the API. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { FakeTelegram } from "./fake-telegram.ts";

const TOKEN = "many-chats-0123456789abcdef";
const AT_ONCE = 8;

export interface ManyChats {
  readonly answered: number;
  readonly breaches: readonly string[];
  readonly seconds: number;
  /** Of the engine's process, for each message. */
  readonly cpuMs: { readonly telegram: number; readonly api: number };
}

export async function manyChats(chats: number): Promise<ManyChats> {
  const fake = await new FakeTelegram().start();
  const home = mkdtempSync(join(tmpdir(), "rookery-many-chats-"));
  const script = fileURLToPath(new URL("./engine-process.ts", import.meta.url));
  const child = spawn(process.execPath, [script, home, fake.url, TOKEN], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, unknown>> => JSON.parse((await lines.next()).value ?? "{}");
  const cpu = async (): Promise<number> => {
    child.stdin.write("cpu\n");
    return Number((await next()).cpuMs);
  };
  try {
    const { url } = await next();
    // Both ways are warm before they are measured.
    await overApi(String(url), 0, 50);
    for (let user = 1; user <= 50; user++) fake.say(user, "warm up");
    await fake.until(() => fake.sent.length >= 50);
    const apiBefore = await cpu();
    await overApi(String(url), 50, chats);
    const apiAfter = await cpu();
    const began = performance.now();
    for (let user = 1_001; user <= 1_000 + chats; user++) fake.say(user, "hello there");
    await fake.until(() => fake.sent.length >= 50 + chats, 10 * 60_000);
    const seconds = (performance.now() - began) / 1_000;
    const telegramAfter = await cpu();
    return {
      answered: new Set(fake.sent.map(({ chat }) => chat)).size - 50,
      breaches: fake.breaches,
      seconds,
      cpuMs: { api: (apiAfter - apiBefore) / chats, telegram: (telegramAfter - apiAfter) / chats },
    };
  } finally {
    child.stdin.write("end\n");
    await new Promise((resolve) => child.once("exit", resolve));
    await fake.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Each user posts one message, in a conversation of its own, and reads the answer. */
async function overApi(url: string, from: number, count: number): Promise<void> {
  let user = from;
  const one = async (): Promise<void> => {
    while (user < from + count) {
      const body = { model: "main", user: `user${user++}`, messages: [{ role: "user", content: "hello there" }] };
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new TypeError(`The API answered ${response.status}: ${await response.text()}`);
      await response.text();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
