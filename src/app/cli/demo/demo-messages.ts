/**
 * The messages of the demo and what became of each. Every message carries a number of its own: it is found in the history of its
 * agent, whatever the engine says about it. None: lost. More than one: doubled.
 */
import { setTimeout as pause } from "node:timers/promises";
import { TimeoutError } from "../../../core/errors.ts";
import { type EngineApi, newKey, pathOf } from "../../client/engine-api.ts";
import { blocksOf, type RawEntry } from "../chat/blocks.ts";

interface Accepted {
  readonly agentId: string;
  readonly seq: number;
}

interface Sent extends Accepted {
  readonly token: string;
}

interface Settled {
  readonly settled: boolean;
  readonly runId: string | null;
  readonly replies: readonly { readonly text: string }[];
}

export interface Counts {
  readonly accepted: number;
  readonly answered: number;
  /** Refused by the budget, and said so. */
  readonly stopped: number;
  readonly lost: number;
  readonly doubled: number;
}

interface HistoryPage {
  readonly items: readonly { readonly entry?: RawEntry & { content?: readonly { text?: string }[] } }[];
}

const LOOK_MS = 60;
const WAIT_MS = 60_000;

export class DemoMessages {
  readonly #api: EngineApi;
  readonly #sent: Sent[] = [];
  #numbered = 0;

  constructor(api: EngineApi) {
    this.#api = api;
  }

  /** Accepted when it resolves. */
  async send(text: string, thread?: string): Promise<Accepted> {
    this.#numbered += 1;
    const token = `[${this.#numbered}]`;
    const [sent] = (await this.#post(`${text} ${token}`, thread)).messages;
    if (!sent) throw new TimeoutError("The message was not accepted.");
    this.#sent.push({ ...sent, token });
    return sent;
  }

  /** A command, which no one counts. */
  async command(text: string, thread: string): Promise<void> {
    const { messages } = await this.#post(text, thread);
    for (const one of messages) await this.reply(one);
  }

  async reply(message: Accepted): Promise<string> {
    return (await this.#settled(message)).replies.map(({ text }) => text).join("\n");
  }

  /** How many runs answered these messages. */
  async runs(messages: readonly Accepted[]): Promise<number> {
    const runs = await Promise.all(messages.map(async (one) => (await this.#settled(one)).runId));
    return new Set(runs).size;
  }

  async #settled({ agentId, seq }: Accepted): Promise<Settled> {
    const path = pathOf("api", "terminal", "messages", agentId, seq);
    for (;;) {
      const answer = await this.#api.get<Settled>(path, { waitSeconds: 20 });
      if (answer.settled) return answer;
    }
  }

  #post(text: string, thread: string | undefined): Promise<{ readonly messages: readonly Accepted[] }> {
    return this.#api.post("/api/terminal/messages", { thread, text }, { id: newKey() });
  }

  /** The last text of an agent that contains the words. */
  async said(agentId: string, words: string): Promise<string> {
    const until = performance.now() + WAIT_MS;
    while (performance.now() < until) {
      const texts = (await this.#history(agentId)).filter(({ role }) => role === "assistant").map(textOf);
      const found = texts.find((text) => text.includes(words));
      if (found !== undefined) return found;
      await pause(LOOK_MS);
    }
    throw new TimeoutError(`The agent did not say "${words}".`);
  }

  async count(): Promise<Counts> {
    const counts = { accepted: this.#sent.length, answered: 0, stopped: 0, lost: 0, doubled: 0 };
    for (const { agentId, seq, token } of this.#sent) {
      // A report and a reminder may repeat the words of a message; they are not the message.
      const typed = (await this.#history(agentId)).flatMap(blocksOf).filter((block) => block.kind === "user");
      const times = typed.reduce((sum, { text }) => sum + text.split(token).length - 1, 0);
      const answer = await this.reply({ agentId, seq });
      if (times === 0) counts.lost += 1;
      else if (times > 1) counts.doubled += 1;
      if (/budget/iu.test(answer)) counts.stopped += 1;
      else if (answer !== "") counts.answered += 1;
    }
    return counts;
  }

  async #history(agentId: string) {
    const page = await this.#api.get<HistoryPage>(pathOf("api", "agents", agentId, "history"), { limit: 200 });
    return page.items.flatMap(({ entry }) => (entry ? [entry] : []));
  }
}

const textOf = ({ content }: { readonly content?: readonly { text?: string }[] }): string =>
  (content ?? []).map(({ text = "" }) => text).join("\n");
