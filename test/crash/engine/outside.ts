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

const PEOPLE = 40;
/** Unanswered messages one person may have. */
const AHEAD = 2;

export class Outside {
  readonly written: Written[] = [];
  readonly shown: Shown[] = [];
  readonly executed = new Map<string, number>();
  /** The sum of all model charges, in tokens. */
  charged = 0;
  readonly #answered = new Map<string, number>();
  readonly #said = new Map<string, number>();
  readonly #tell: (said: ToChild) => void;
  open = true;

  constructor(tell: (said: ToChild) => void) {
    this.#tell = tell;
  }

  /** Call when a new process has started: submits unacknowledged messages again. */
  reconnect(): void {
    for (const message of this.written) if (!message.acknowledged) this.#hand(message);
    this.#write();
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
      this.#answered.set(person, (this.#answered.get(person) ?? 0) + 1);
      this.#write();
    }
  }

  /** Every person with few unanswered messages writes; a third of the messages need the tool. */
  #write(): void {
    if (!this.open) return;
    for (let n = 0; n < PEOPLE; n++) {
      const person = `p${n}`;
      const channel = CHANNELS[n % CHANNELS.length] as string;
      while ((this.#said.get(person) ?? 0) - (this.#answered.get(person) ?? 0) < AHEAD) {
        const id = String(this.written.length + 1);
        const text = `⟦t${id}⟧${this.written.length % 3 === 0 ? " tool" : ""}`;
        const message = { id, channel, person, text, acknowledged: false };
        this.written.push(message);
        this.#said.set(person, (this.#said.get(person) ?? 0) + 1);
        this.#hand(message);
      }
    }
  }

  #hand({ channel, person, id, text }: Written): void {
    this.#tell({ say: "in", channel, person, id, text });
  }
}
