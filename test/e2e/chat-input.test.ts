/** What a person types in the chat, with an engine of the chat's own and the offline model. The tests share one terminal, in order. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "rookery-chat-"));
const home = join(root, "home");
const start = (): TestTerminal =>
  new TestTerminal({
    args: [MAIN, "--home", home],
    cwd: root,
    env: { ROOKERY_HOME: undefined, PATH: process.env.PATH },
  });

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let terminal: TestTerminal;
beforeAll(async () => {
  writeFileSync(join(root, "alpha.txt"), "what alpha says");
  writeFileSync(join(root, "two words.txt"), "x");
  terminal = start();
  await terminal.until("● idle");
});
afterAll(async () => {
  await terminal.close();
  rmSync(root, { recursive: true, force: true });
});

const ask = async (text: string, answer: string | RegExp): Promise<string> => {
  terminal.say(text);
  await terminal.until(answer);
  return terminal.until("● idle");
};
const clear = async (): Promise<void> => {
  terminal.type(KEYS.ctrlC);
  await terminal.until(/─\n\s*\n─/u);
};

describe("the first screen", () => {
  it("says what was found, that the offline model is not an AI, and what to type", () => {
    const { text } = terminal;
    for (const part of [
      "Rookery 0.1.0",
      "Model    offline",
      "Home     ",
      "  new",
      "Address  none",
      "It is not an AI",
      "what time is it",
      "/help",
      "setup",
      "offline model",
    ]) {
      expect(text).toContain(part);
    }
  });
});

describe("typing", () => {
  it("completes commands and their choices", async () => {
    terminal.type("/verb");
    await terminal.until("→ /verbose");
    terminal.type(KEYS.tab);
    await terminal.until("/verbose ");
    terminal.type("f");
    await terminal.until("→ full");
    terminal.type(KEYS.tab);
    await terminal.until("/verbose full");
    terminal.type(KEYS.enter);
    await terminal.until("⚙");
    await ask("what time is it", /✓ current_time [\d.]+ m?s[\s\S]*\n {4}\w+day/u);
    // Full shows the input and the result, on only the result, off neither.
    await ask("/verbose on", /⚙[\s\S]*⚙/u);
    expect(terminal.text).toMatch(/✓ current_time [^\n]*\n {4}\w+day/u);
    await ask("/verbose off", /⚙[\s\S]*⚙[\s\S]*⚙/u);
    await terminal.until((text) => !/\n {4}\w+day/u.test(text));
  });

  it("completes files behind an @ and sends them", async () => {
    terminal.type("see @al");
    await terminal.until("→ alpha.txt");
    terminal.type(KEYS.tab);
    await terminal.until("see @alpha.txt");
    terminal.type(KEYS.enter);
    await terminal.until(/\+ alpha\.txt \(text\/plain, 15 bytes\)/u);
    expect(existsSync(join(home, "files"))).toBe(true);
    terminal.type('@"');
    await terminal.until("two words.txt");
    await clear();
  });

  it("sends a picture that is named by its path, as a terminal writes it when it is dropped there", async () => {
    writeFileSync(join(root, "my cat.png"), PIXEL);
    await ask(
      `${join(root, "my cat.png").replaceAll(" ", "\\ ")} is my cat`,
      /\+ my cat\.png \(image\/png, \d+ bytes\)/u,
    );
    await ask("@missing.png is no file", "You said: @missing.png is no file");
  });

  it("takes several lines, and shows a long paste as a marker", async () => {
    terminal.type(`one${KEYS.newLine}two`);
    await terminal.until(/ one *\n *two/u);
    await clear();
    terminal.paste(Array.from({ length: 500 }, (_, n) => `pasted ${n}`).join("\n"));
    await terminal.until(/\[paste #1 \+500 lines\]/u);
    terminal.type(KEYS.enter);
    await terminal.until("pasted 499");
    await terminal.until("● idle");
  });
});

describe("conversations", () => {
  it("are opened by name, and another one shows that it has something unread", async () => {
    await ask("/open work", / work ·/u);
    await ask("in the background, what time is it", "completed successfully");
    // Not even accepted yet: it is sent all the same. Typed at once, so that the other one is open when the answer comes.
    terminal.type(`one more${KEYS.enter}/open main${KEYS.enter}`);
    await terminal.until(/ main ·/u);
    await terminal.until("1 unread");
    terminal.type("\u0014");
    await terminal.until(/● work[\s\S]*unread/u);
    terminal.type("work");
    await terminal.until("filter: work");
    terminal.type(KEYS.enter);
    await terminal.until(/You said: one more[\s\S]* work ·/u);
    expect(terminal.text).not.toContain("unread");
    await ask("/open main", / main ·/u);
  });

  it("show their agents, messages and deliveries", async () => {
    terminal.say("/agents");
    await terminal.until(/conversations and agents[\s\S]*subagent/u);
    terminal.type(KEYS.escape);
    await terminal.until((text) => !text.includes("type to filter"));
    await ask("/tree", "[subagent]");
    await ask("/inbox", /answered\s+what time is it|answered\s+pasted/u);
    await ask("/outbox", /◆ outbox/u);
  });

  it("are searched", async () => {
    terminal.say("/search");
    await terminal.until("Find in transcript");
    terminal.type("alpha");
    await terminal.until("see @alpha.txt");
    terminal.type(KEYS.escape);
    await terminal.until((text) => !text.includes("Shift+Enter"));
  });

  it("are written to a file, which is never overwritten", async () => {
    await ask("/export talk.md", "The conversation is in");
    expect(readFileSync(join(root, "talk.md"), "utf8")).toContain("**You**\n\nsee @alpha.txt");
    await ask("/export talk.md", "file already exists");
  });

  it("go back with Esc Esc: the message is in the input again, and what follows it is gone", async () => {
    await ask("first idea", "You said: first idea");
    terminal.say("/branch");
    await terminal.until(/go back to[\s\S]*→ first idea/u);
    terminal.type(KEYS.escape);
    await terminal.until((now) => !now.includes("go back to"));
    terminal.type(KEYS.escape);
    await terminal.until("Esc again");
    terminal.type(KEYS.escape);
    await terminal.until("go back to");
    terminal.type(KEYS.enter);
    await terminal.until((text) => !text.includes("You said: first idea") && text.includes("first idea"));
    terminal.type(" better");
    await terminal.until("first idea better");
    terminal.type(KEYS.enter);
    const text = await terminal.until("You said: first idea better");
    expect(text.split("❯ first idea").length - 1).toBe(1);
  });
});

describe("the next start", () => {
  it("shows the conversation again and remembers what was typed", async () => {
    terminal.type(KEYS.ctrlD);
    expect(await terminal.exited).toBe(0);
    expect(statSync(join(home, "chat-history.jsonl")).mode & 0o777).toBe(0o600);
    expect(readdirSync(home)).not.toContain("control.sock");
    // As the README says: npm start.
    const args = ["start", "--silent", "--", "--home", home];
    terminal = new TestTerminal({ file: "npm", args, cwd: REPOSITORY, env: { ROOKERY_HOME: undefined } });
    await terminal.until("You said: first idea better");
    terminal.type(KEYS.up);
    await terminal.until(/─\n first idea better/u);
    await clear();
  });

  it("fires a reminder while the chat is open, once", async () => {
    // The files above count as text of others, for which a reminder would ask. A new session has none of them.
    await ask("/new remind me in 1 seconds to drink tea", "I will remind you");
    const text = await terminal.until(/Reminder: drink tea[\s\S]*● idle/u);
    expect(text).toContain("◆");
    terminal.say("/quit");
    expect(await terminal.exited).toBe(0);
  });
});
