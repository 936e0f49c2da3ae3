/**
 * The main states of the chat, brought about in real terminals. `npm run tool -- screens` makes the pictures of the docs and the golden
 * files of them; `test/e2e/screens.test.ts` brings them about again and compares every cell.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callTool } from "../../test/e2e/chat-kit.ts";
import { type FakeModel, fakeModel, type ModelCall, serve } from "../../test/e2e/serving.ts";
import { KEYS, MAIN, TestTerminal } from "../../test/kit/terminal.ts";

/** Called for each state, while the terminal shows it or is about to. */
export type Show = (name: string, terminal: TestTerminal, title: string) => Promise<void>;

const ANSWER = `Three things changed since yesterday:

1. The **backup** ran at 03:00 and took 4 minutes.
2. Disk \`/data\` is at 71 %.
3. One job failed: it had no space in \`/tmp\`.

\`\`\`sh
# frees 2 GB
rm -rf /tmp/build-cache
\`\`\`

Shall I do that?`;

const MODEL = "qwen3-32b";
/** Tokens of a model call. */
const USED = [2_140, 38] as const;

/** A person's directory. Its name is short, so that a question names it in one line wherever temporary files are. */
function scratch() {
  const root = mkdtempSync(join(tmpdir(), "home-"));
  const env = {
    ROOKERY_HOME: join(root, ".rookery"),
    HOME: root,
    npm_lifecycle_event: "start",
    K: "k",
    PATH: process.env.PATH,
  };
  return { root, env, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** The chat with an engine of its own and the offline model. */
export async function offlineStates(show: Show): Promise<void> {
  const { root, env, remove } = scratch();
  const terminal = new TestTerminal({ args: [MAIN], env, cwd: root });
  await terminal.until("● idle");
  await show("terminal-first", terminal, "The first screen of the chat");
  terminal.resize(40, 12);
  terminal.say("/open work");
  await terminal.until(/Rookery[\s\S]*\/help[\s\S]* work · [^\n]*● idle/u);
  await show("terminal-small-first", terminal, "The first screen at 40 columns and 12 rows");
  await terminal.close();
  remove();
}

const TASK = "List the certificates that expire this month.";
const FOUND = "Two: **mail.example.org** on the 24th and **shop.example.org** on the 29th.";

/** Another agent works for the one of the chat. */
export async function backgroundStates(show: Show): Promise<void> {
  const { root, env, remove } = scratch();
  const model = await fakeModel();
  const served = await serve(model, { at: env.ROOKERY_HOME, modelId: MODEL });
  const found = Promise.withResolvers<ModelCall>();
  model.script = (call) => {
    if (call.prompt.includes("just completed")) answer(call, `${FOUND} Shall I renew them?`);
    else if (call.body.messages.at(-1)?.role === "tool") answer(call, "I am looking, and tell you when I know.");
    else if (call.prompt.includes(TASK)) found.resolve(call);
    else callTool(call, "start_background_agent", { prompt: TASK, name: "certificates" });
  };
  const terminal = new TestTerminal({ args: [MAIN], env, cwd: root });
  await terminal.until("● idle");
  terminal.say("which certificates expire soon? look in the background");
  await terminal.until(/when I know\.[\s\S]*● idle/u);
  answer(await found.promise, FOUND);
  await terminal.until(/renew them\?[\s\S]*● idle/u);
  await show("terminal-background", terminal, "A background agent has reported");
  terminal.type("/qu");
  await terminal.until("→ /queue");
  await show("terminal-commands", terminal, "Commands are completed");
  await terminal.close();
  await served.stop();
  await model.close();
  remove();
}

function answer(call: ModelCall, text: string): void {
  call.say(text);
  call.end(...USED);
}

/** A chat with a running engine whose model waits for the test. */
export async function onlineStates(show: Show): Promise<void> {
  const { root, env, remove } = scratch();
  const model = await fakeModel();
  const served = await serve(model, { at: env.ROOKERY_HOME, modelId: MODEL, more: { queue: { mode: "steer" } } });
  const terminal = new TestTerminal({ args: [MAIN], env, cwd: root });
  await terminal.until("● idle");
  await questions(show, terminal, model);
  await answers(show, terminal, model);
  terminal.resize(80, 24);
  served.process.kill("SIGKILL");
  await terminal.until("○ engine away");
  await show("terminal-away", terminal, "The engine was killed; the chat waits for it");
  await terminal.close();
  await model.close();
  remove();
}

/** The agent wants to run a command, and asks. */
async function questions(show: Show, terminal: TestTerminal, model: FakeModel): Promise<void> {
  model.script = (call) => {
    if (call.body.messages.at(-1)?.role === "tool") answer(call, "Then I leave it as it is.");
    else callTool(call, "exec", { command: "git push origin main" });
  };
  terminal.say("publish my changes");
  await terminal.until("yes, this once");
  await show("terminal-question", terminal, "The agent asks before it runs a command");
  terminal.type(`${KEYS.up.repeat(2)}${KEYS.enter}`);
  await terminal.until("this call");
  await show("terminal-always", terminal, "What a yes for always would store");
  terminal.type(KEYS.escape);
  await terminal.until("yes, this once");
  terminal.type(`${KEYS.up}${KEYS.enter}`);
  await terminal.until(/Then I leave it as it is\.[\s\S]*● idle/u);
}

async function answers(show: Show, terminal: TestTerminal, model: FakeModel): Promise<void> {
  const called = Promise.withResolvers<ModelCall>();
  model.script = (call) => called.resolve(call);
  terminal.say("what changed since yesterday?");
  (await called.promise).say(ANSWER);
  await terminal.until("Shall I do that?");
  terminal.say("yes, and tell me when it is done");
  await terminal.until(/↳ enters|↳ waits/u);
  await show("terminal-streaming", terminal, "An answer is being written; a message that was typed during it waits");
  terminal.resize(40, 12);
  await terminal.until(() => /^ main .{0,30}● working$/u.test(terminal.screen().at(-1) ?? ""));
  await show("terminal-small", terminal, "The same at 40 columns and 12 rows");
}

export async function demoStates(show: Show): Promise<void> {
  const { root, env, remove } = scratch();
  mkdirSync(join(root, ".rookery"), { recursive: true });
  const terminal = new TestTerminal({ args: [MAIN, "demo"], env, cols: 100, rows: 44 });
  await terminal.exited;
  await terminal.until("Next:");
  await show("demo", terminal, "rookery demo: work, a schedule, a budget, kill -9, and nothing is lost or doubled");
  await terminal.close();
  remove();
}
