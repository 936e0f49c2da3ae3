/**
 * People whose programs talk to agents over HTTP without keys (M18). Connections are cut and nodes die; a program repeats its
 * request, marked as a retry or not, and a person says the same few words again and again. Each thing a person says has a token
 * of its own, and a request repeats a token exactly when the rule says that it joins. So every token is accepted at most
 * once, and every answer belongs to the token that was asked.
 */
import type { AgentId, ChangeId } from "../../../src/core/ids.ts";
import { type AskDeps, askNode } from "./ask-node.ts";
import type { Scheduler } from "./scheduler.ts";
import { tokenText } from "./tokens.ts";

export interface CallerAnswer {
  readonly person: string;
  readonly token: string;
  readonly marked: boolean;
  /** The message whose answer the program got. */
  readonly agentId: string;
  readonly seq: number;
}

export interface CallersDeps extends AskDeps {
  readonly scheduler: Scheduler;
  wall(): number;
  /** Whether people still write. */
  isActive(): boolean;
}

export interface Callers {
  readonly tokens: readonly string[];
  readonly answers: readonly CallerAnswer[];
  start(people: number): void;
}

/** One thing a person said. Its fields are what the outside can know. */
interface Said {
  readonly token: string;
  /** What was said with the same words before. */
  readonly before: Said | undefined;
  firstSentAt: number;
  lastSentAt: number;
  /** Its place in the inbox, once a node has answered. */
  seq: number | undefined;
  /** Whether all of the response arrived, and whether the node had the time to store that. */
  delivered: boolean;
  stored: boolean;
}

interface Request {
  readonly words: string;
  /** Undefined: a new token. */
  readonly said: Said | undefined;
  readonly marked: boolean;
}

const WORDS = ["yes", "no", "go on"] as const;
/** Tokens of the workload are far below. */
const FIRST_TOKEN = 9_000;
/** Longer than a request stays on its way, and than the end of a response takes to be stored. */
const STORED_MS = 5_000;

export function makeCallers(deps: CallersDeps): Callers {
  const tokens: string[] = [];
  const answers: CallerAnswer[] = [];
  const nextToken = (): string => {
    tokens.push(`t${FIRST_TOKEN + tokens.length}`);
    return tokens.at(-1) as string;
  };
  return {
    tokens,
    answers,
    start(people) {
      for (let n = 1; n <= people; n++) new Caller(deps, `http${n}`, nextToken, answers).rest(0);
    },
  };
}

class Caller {
  readonly #deps: CallersDeps;
  readonly #name: string;
  readonly #nextToken: () => string;
  readonly #answers: CallerAnswer[];
  readonly #all: Said[] = [];
  readonly #last = new Map<string, Said>();
  #agentId: AgentId | undefined;

  constructor(deps: CallersDeps, name: string, nextToken: () => string, answers: CallerAnswer[]) {
    this.#deps = deps;
    this.#name = name;
    this.#nextToken = nextToken;
    this.#answers = answers;
  }

  rest(leastMs: number): void {
    const { scheduler, random, isActive } = this.#deps;
    const ms = random.chance(0.5) ? random.int(300, 1_500) : random.int(STORED_MS, STORED_MS + 1_000);
    scheduler.after(Math.max(leastMs, ms), () => isActive() && this.#step());
  }

  #step(): void {
    const { random } = this.#deps;
    if (this.#agentId !== undefined && random.chance(0.3)) this.#postEvent(this.#agentId);
    const possible = WORDS.flatMap((words) => this.#requestsOf(words));
    if (possible.length === 0) this.rest(0);
    else this.#send(random.pick(possible));
  }

  /** Every request with these words of which the rule says for certain whether it is new. */
  #requestsOf(words: string): readonly Request[] {
    const last = this.#last.get(words);
    if (!last) return [{ words, said: undefined, marked: false }];
    const requests: Request[] = [];
    const { before, delivered, stored } = last;
    const later = this.#isLater(last);
    const maybeLater = this.#mayBeLater(last);
    // If no node has accepted the last one, the request is compared with the one before.
    const known = last.seq !== undefined || !before;
    const beforeIsPast = before !== undefined && (before.stored || this.#isLater(before));
    const beforeIsOver = before?.stored === true && this.#isLater(before);
    if (delivered ? !maybeLater : known || beforeIsOver) requests.push({ words, said: last, marked: true });
    if (!delivered && !maybeLater && (known || beforeIsPast)) requests.push({ words, said: last, marked: false });
    if (stored || later) requests.push({ words, said: undefined, marked: false });
    if (stored && later) requests.push({ words, said: undefined, marked: true });
    return requests;
  }

  /** Whether a later message of the person was certainly accepted. */
  #isLater(said: Said): boolean {
    return this.#all.some(({ seq, firstSentAt }) => {
      if (seq === undefined) return false;
      return said.seq === undefined ? firstSentAt > said.lastSentAt : seq > said.seq;
    });
  }

  #mayBeLater(said: Said): boolean {
    return this.#all.some((other) => {
      if (other === said) return false;
      if (other.seq !== undefined && said.seq !== undefined) return other.seq > said.seq;
      return other.lastSentAt > said.firstSentAt;
    });
  }

  #send({ words, said: again, marked }: Request): void {
    const { random, scheduler, log } = this.#deps;
    const { time } = scheduler;
    const said = again ?? this.#newSaid(words);
    said.lastSentAt = time;
    let isOver = false;
    const end = (leastMs: number): void => {
      if (!isOver) this.rest(leastMs);
      isOver = true;
    };
    const request = { user: this.#name, text: `${tokenText(said.token)} ${words}`, words, isRetry: marked };
    const found = askNode(this.#deps, "ask", {
      about: `answer ${said.token} of ${this.#name}${marked ? ", a retry" : ""}`,
      ask: (subject) => subject.ask(request),
      onAnswer: ({ agentId, seq, sent }, process) => {
        this.#agentId = agentId;
        said.seq ??= seq;
        if (isOver) return;
        end(0);
        if (random.chance(0.35)) return log.write("network", `cuts the response to ${said.token}`);
        this.#answers.push({ person: this.#name, token: said.token, marked, agentId, seq });
        said.delivered = true;
        sent();
        scheduler.after(STORED_MS - 100, () => {
          if (process.state === "up") said.stored = true;
        });
      },
      onError: () => end(STORED_MS),
    });
    if (!found) {
      this.rest(0);
      return;
    }
    if (!again) {
      this.#all.push(said);
      this.#last.set(words, said);
    }
    // A program that waits too long gives up; a dead node never answers.
    scheduler.after(random.chance(0.3) ? random.int(20, 2_000) : 15_000, () => end(STORED_MS));
  }

  #newSaid(words: string): Said {
    const { time } = this.#deps.scheduler;
    const before = this.#last.get(words);
    const sent = { firstSentAt: time, lastSentAt: time };
    return { token: this.#nextToken(), before, ...sent, seq: undefined, delivered: false, stored: false };
  }

  /** An event that no person wrote. */
  #postEvent(agentId: AgentId): void {
    const { backend, random } = this.#deps;
    const token = this.#nextToken();
    const body = { kind: "system", text: tokenText(token), silent: random.chance(0.5) } as const;
    const at = this.#deps.wall();
    const ops = [{ op: "message.post", to: { agentId }, message: { body, acceptedAt: at } }] as const;
    backend.apply([{ id: `world-${token}` as ChangeId, site: "world.event", at, ops }]);
  }
}
