/** `npm run screens`: records the pictures of docs/terminal.md and the README from real terminals. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fakeModel, serve } from "../../test/e2e/serving.ts";
import { KEYS, MAIN, TestTerminal } from "../../test/kit/terminal.ts";
import { svgOf } from "./terminal-svg.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-screens-"));
const env = { ROOKERY_HOME: join(root, ".rookery"), HOME: root, npm_lifecycle_event: "start", K: "k" };
const save = (name: string, terminal: TestTerminal, title: string, rows?: number): void => {
  writeFileSync(`docs/${name}.svg`, svgOf(terminal.terminal, { title, rows }));
  console.log(`docs/${name}.svg`);
};

const ANSWER = `Three things changed since yesterday:

1. The **backup** ran at 03:00 and took 4 minutes.
2. Disk \`/data\` is at 71 %.
3. One job failed: it had no space in \`/tmp\`.

\`\`\`sh
# frees 2 GB
rm -rf /tmp/build-cache
\`\`\`

Shall I do that?`;

async function offline(): Promise<void> {
  const terminal = new TestTerminal({ args: [MAIN], env, cwd: root });
  await terminal.until("● idle");
  save("terminal-first", terminal, "The first screen of the chat");
  terminal.say("what time is it");
  await terminal.until(/It is \w+day/u);
  terminal.say("in the background, what time is it");
  await terminal.until(/completed successfully[\s\S]*● idle/u);
  save("terminal-background", terminal, "A background agent has reported");
  terminal.type("/qu");
  await terminal.until("→ /queue");
  save("terminal-commands", terminal, "Commands are completed");
  await terminal.close();
}

async function online(): Promise<void> {
  const model = await fakeModel();
  const served = await serve(model, { more: { queue: { mode: "steer" } } });
  const calls: Parameters<typeof model.script>[0][] = [];
  model.script = (call) => calls.push(call);
  const args = [MAIN, "chat", "--home", served.home];
  const terminal = new TestTerminal({ args, env, cwd: root });
  await terminal.until("● idle");
  terminal.say("what changed since yesterday?");
  while (calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  calls[0]?.say(ANSWER);
  await terminal.until("Shall I do that?");
  terminal.say("yes, and tell me when it is done");
  await terminal.until(/↳ enters|↳ waits/u);
  save("terminal-streaming", terminal, "An answer is being written; a message that was typed meanwhile waits");
  terminal.resize(40, 12);
  await terminal.until(() => /^ main .{0,30}● working$/u.test(terminal.screen().at(-1) ?? ""));
  save("terminal-small", terminal, "The same at 40 columns and 12 rows");
  terminal.resize(80, 24);
  served.process.kill("SIGKILL");
  await terminal.until("○ engine away");
  save("terminal-away", terminal, "The engine was killed; the chat waits for it");
  terminal.type(KEYS.ctrlC);
  await terminal.close();
  await model.close();
  rmSync(served.home, { recursive: true, force: true });
}

async function demo(): Promise<void> {
  const terminal = new TestTerminal({ args: [MAIN, "demo"], env, cols: 100, rows: 44 });
  await terminal.exited;
  await terminal.until("Next:");
  save("demo", terminal, "rookery demo: work, a schedule, a budget, kill -9, and nothing is lost or doubled");
  await terminal.close();
}

const wanted = process.argv.slice(2);
for (const [name, record] of Object.entries({ offline, online, demo })) {
  if (wanted.length === 0 || wanted.includes(name)) await record();
}
rmSync(root, { recursive: true, force: true });
process.exit(0);
