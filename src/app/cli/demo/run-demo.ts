/** The story of the demo, told while it happens: every line is about something that the engine has just done. */
import { clean, cleanLine } from "../chat/clean-text.ts";
import type { Theme } from "../chat/theme.ts";
import { AGENT_TOKENS, DemoEngine } from "./demo-engine.ts";
import { type Counts, DemoMessages } from "./demo-messages.ts";

interface DemoOptions {
  readonly write: (text: string) => unknown;
  readonly theme: Theme;
  /** The program of this command. */
  readonly file: string;
  /** How the person calls it. */
  readonly command: string;
}

/** More tokens than an agent may use: a token is at most four characters here. */
const LONG = "a long text ".repeat((4 * AGENT_TOKENS) / 10);
const BUSY = 4;

export async function runDemo({ write, theme, file, command }: DemoOptions): Promise<Counts> {
  const title = (text: string) => write(`\n${theme.bold(text)}\n`);
  const you = (text: string) => write(`  ${theme.person("❯")} ${text}\n`);
  const note = (text: string) => write(`  ${theme.dim(text)}\n`);
  const agent = (text: string) => write(`    ${short(text)}\n`);
  const engine = new DemoEngine(file);
  const messages = new DemoMessages(engine.api);
  const talk = async (text: string, thread?: string): Promise<string> => {
    you(text.length > 60 ? `${text.slice(0, 40)}… (${text.length} characters)` : text);
    return messages.reply(await messages.send(text, thread));
  };
  const stop = (): void => void engine.kill().then(() => process.exit(130));
  process.once("SIGINT", stop);
  try {
    write(`${theme.bold("Rookery demo")}  ${theme.dim(`real engine, scratch home ${engine.home}, offline model`)}\n`);
    await engine.start();
    note(`engine started, process ${engine.pid}`);

    title("1  A conversation");
    agent(await talk("what time is it"));
    title("2  A background agent that reports");
    you("in the background, what time is it");
    const sent = await messages.send("in the background, what time is it");
    await messages.reply(sent);
    agent(await messages.said(sent.agentId, "completed successfully"));
    title("3  A schedule that fires");
    agent(await talk("remind me in 2 seconds to drink tea"));
    agent(await messages.said(sent.agentId, "Reminder"));

    title("4  Messages while it is busy: collect puts them together, queue answers each");
    note(`${runsText(await together(messages, you, "collected"))} answered them (collect)`);
    await messages.command("/queue queue", "one-by-one");
    note(`${runsText(await together(messages, you, "queued", "one-by-one"))} answered them (queue)`);

    title("5  A budget that stops");
    await talk("remember this", "budget");
    agent(await talk(`and ${LONG}`, "budget"));

    title("6  kill -9 while messages wait");
    const waiting = [];
    for (const n of [1, 2, 3]) {
      you(`question ${n}`);
      waiting.push(await messages.send(`question ${n}`));
    }
    const { pid } = engine;
    await engine.kill();
    write(`  ${theme.bad(`kill -9 ${pid}`)} ${theme.dim("accepted, not answered; the process is gone")}\n`);
    await engine.start();
    note(`started again, process ${engine.pid}`);
    for (const one of waiting) await messages.reply(one);
    agent("question 1, 2 and 3 are answered");
    const counts = await messages.count();
    write(`\n${countsText(counts, theme)}\n${nextText(command, theme)}`);
    return counts;
  } finally {
    process.off("SIGINT", stop);
    await engine.close();
  }
}

async function together(messages: DemoMessages, you: (text: string) => unknown, word: string, thread?: string) {
  const words = Array.from({ length: BUSY }, (_, n) => `${word} ${n + 1}`);
  const sent = await Promise.all(words.map((one) => messages.send(one, thread)));
  you(`${word} 1 … ${BUSY}`);
  return messages.runs(sent);
}

const runsText = (count: number): string => (count === 1 ? "one run" : `${count} runs`);

function countsText({ accepted, answered, stopped, lost, doubled }: Counts, theme: Theme): string {
  const none = (count: number, word: string): string =>
    count === 0 ? theme.good(`${word} 0`) : theme.bad(`${word} ${count}`);
  return `  ${theme.bold(`accepted ${accepted}`)} · answered ${answered} · stopped by the budget ${stopped} · ${none(lost, "lost")} · ${none(doubled, "doubled")}`;
}

const nextText = (command: string, theme: Theme): string =>
  [
    "",
    "Next:",
    `  ${theme.accent(command.replace(/ --$/u, ""))}  chat in this terminal`,
    `  ${theme.accent(`${command} setup`)}  a real model, your name, a daily limit`,
    "",
  ].join("\n");

/** Without the mark of the offline model and the numbers of the demo, in one line. */
const short = (text: string): string =>
  cleanLine(
    clean(text)
      .replaceAll("[offline model, not an LLM] ", "")
      .replaceAll(/ ?\[\d{1,3}\]/gu, ""),
    90,
  );
