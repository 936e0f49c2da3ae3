/**
 * The world outside the program: people who write, channels that submit a message again until it is acknowledged, and
 * a record of what was shown and executed. It survives every kill.
 */
import { CHANNELS, type FromChild, type ToChild } from "./wire.ts";

export interface Written {
  readonly id: string;
  readonly channel: string;
  readonly person: string;
  readonly text: string;
  acknowledged: boolean;
}

export interface Shown {
  readonly channel: string;
  readonly id: string;
  readonly person: string;
  readonly text: string;
}

/** People who write, and how long a step of their messages takes; by default as long as the model needs. */
export interface Crowd {
  readonly people: number;
  /** Unanswered messages one of them may have. */
  readonly ahead: number;
  readonly takesMs?: number;
  /** Nobody writes in the place of one who waits. */
  readonly stays?: true;
}

const QUICK: Crowd = { people: 40, ahead: 2 };
/** Most steps are short, some take longer than the process lives, some much longer than a trial. */
export const MIX: readonly Crowd[] = [
  { ...QUICK, takesMs: 100 },
  { people: 8, ahead: 1, takesMs: 5_000 },
  { people: 4, ahead: 1, takesMs: 60_000 },
];
/** A person without an answer for this many lives waits for a trial, and another person writes in their place. */
const STUCK_LIVES = 3;

interface Person {
  readonly name: string;
  readonly channel: string;
  readonly crowd: Crowd;
  said: number;
  answered: number;
  /** The life in which the last answer came. */
  life: number;
  /** The most lives between two answers. */
  waited: number;
}

export class Outside {
  readonly written: Written[] = [];
  readonly shown: Shown[] = [];
  readonly executed = new Map<string, number>();
  /** The sum of all model charges, in tokens. */
  charged = 0;
  readonly #people = new Map<string, Person>();
  readonly #crowds: readonly Crowd[];
  readonly #tell: (said: ToChild) => void;
  #life = 0;
  #connected = false;
  open = true;

  constructor(tell: (said: ToChild) => void, crowds: readonly Crowd[] = [QUICK]) {
    this.#tell = tell;
    this.#crowds = crowds;
  }

  /** Call before a new process starts: nothing new is written before what was not acknowledged is submitted again. */
  disconnect(): void {
    this.#connected = false;
  }

  /** Call when a new process has started: submits unacknowledged messages again. */
  reconnect(): void {
    this.#life += 1;
    this.#connected = true;
    for (const message of this.written) if (!message.acknowledged) this.#hand(message);
    if (this.open) for (const crowd of this.#crowds) this.#fill(crowd);
    this.#write();
  }

  /** A person who writes once. */
  writeOnce(name: string, text: string): void {
    this.#say({ name, channel: CHANNELS[0], crowd: QUICK, said: 0, answered: 0, life: this.#life, waited: 0 }, text);
  }

  hear(said: FromChild): void {
    if (said.say === "ack") {
      const message = this.written[Number(said.id) - 1];
      if (message) message.acknowledged = true;
    }
    if (said.say === "exec") this.executed.set(said.callId, (this.executed.get(said.callId) ?? 0) + 1);
    if (said.say === "charge") this.charged += said.tokens;
    if (said.say === "show") {
      const { channel, id, person, text } = said;
      this.shown.push({ channel, id, person, text });
      const found = this.#people.get(person);
      if (!found) return;
      found.answered += 1;
      found.waited = Math.max(found.waited, this.#life - found.life);
      found.life = this.#life;
      this.#write();
    }
  }

  /** The people who have not had one answer. */
  unanswered(): readonly string[] {
    return [...this.#people.values()].filter(({ answered }) => answered === 0).map(({ name }) => name);
  }

  /** The most lives of the process that anyone has waited for an answer. */
  longestWait(): number {
    return Math.max(...[...this.#people.values()].map(({ waited, life }) => Math.max(waited, this.#life - life)));
  }

  /** There are always as many people of a crowd as it says whose messages do not wait for a trial. */
  #fill(crowd: Crowd): void {
    const patient = crowd.stays || (crowd.takesMs !== undefined && crowd.takesMs > 1_000);
    const all = [...this.#people.values()].filter((person) => person.crowd === crowd);
    const active = patient ? all : all.filter(({ life }) => this.#life - life < STUCK_LIVES);
    for (let n = active.length; n < crowd.people; n++) {
      const place = this.#people.size;
      const channel = CHANNELS[place % CHANNELS.length] ?? CHANNELS[0];
      const name = `p${place}`;
      this.#people.set(name, { name, channel, crowd, said: 0, answered: 0, life: this.#life, waited: 0 });
    }
  }

  /** Every person with few unanswered messages writes; a third of the messages need the tool. */
  #write(): void {
    if (!this.open || !this.#connected) return;
    for (const person of this.#people.values()) {
      while (person.said - person.answered < person.crowd.ahead) {
        const { takesMs } = person.crowd;
        const takes = takesMs === undefined ? "" : ` takes ${takesMs}`;
        this.#say(person, `${takes}${this.written.length % 3 === 0 ? " tool" : ""}`);
      }
    }
  }

  #say(person: Person, words: string): void {
    const id = String(this.written.length + 1);
    const message = { id, channel: person.channel, person: person.name, text: `⟦t${id}⟧${words}`, acknowledged: false };
    this.written.push(message);
    person.said += 1;
    this.#hand(message);
  }

  #hand({ channel, person, id, text }: Written): void {
    this.#tell({ say: "in", channel, person, id, text });
  }
}
