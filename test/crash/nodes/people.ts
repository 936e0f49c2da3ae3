/**
 * People who write to any node that answers. A person's next message is submitted when the one before is acknowledged.
 * A message that is refused or not acknowledged in time is submitted to another node. What was shown and executed is
 * recorded here, outside every node.
 */
import type { Random } from "../../kit/random.ts";
import type { Shown, Written } from "../engine/outside.ts";
import { CHANNELS, type FromChild, type ToChild } from "../engine/wire.ts";

export interface Hand {
  readonly name: string;
  readonly living: boolean;
  tell(said: ToChild): void;
}

interface Handed {
  readonly at: number;
  readonly to: Hand;
}

/** Unanswered messages one person may have. */
const AHEAD = 2;
const PATIENCE_MS = 3_000;

export class People {
  readonly written: Written[] = [];
  readonly shown: Shown[] = [];
  readonly executed = new Map<string, number>();
  readonly #answered = new Map<string, number>();
  readonly #queues = new Map<string, Written[]>();
  readonly #handed = new Map<string, Handed>();
  readonly #toolkit: () => readonly Hand[];
  readonly #random: Random;
  /** How many people write now. */
  people = 0;
  #said = new Map<string, number>();

  constructor(random: Random, toolkit: () => readonly Hand[]) {
    this.#random = random;
    this.#toolkit = toolkit;
  }

  get unacknowledged(): number {
    return this.written.filter(({ acknowledged }) => !acknowledged).length;
  }

  hear(said: FromChild): void {
    if (said.say === "ack") {
      const message = this.written[Number(said.id) - 1];
      if (!message || message.acknowledged) return;
      message.acknowledged = true;
      this.#handed.delete(message.id);
      const queue = this.#queues.get(message.person);
      if (queue?.[0] === message) queue.shift();
      this.#handNext(message.person);
    }
    if (said.say === "refused") this.#handed.delete(said.id);
    if (said.say === "exec") this.executed.set(said.callId, (this.executed.get(said.callId) ?? 0) + 1);
    if (said.say === "show") {
      const { channel, id, person, text } = said;
      this.shown.push({ channel, id, person, text });
      this.#answered.set(person, (this.#answered.get(person) ?? 0) + 1);
    }
  }

  /** Every person with few unanswered messages writes. Unacknowledged messages are submitted again. */
  move(): void {
    for (let n = 0; n < this.people; n++) {
      const person = `p${n}`;
      while ((this.#said.get(person) ?? 0) - (this.#answered.get(person) ?? 0) < AHEAD) this.#write(person, n);
    }
    for (const person of this.#queues.keys()) this.#handNext(person);
  }

  #write(person: string, n: number): void {
    const id = String(this.written.length + 1);
    const text = `⟦t${id}⟧${this.written.length % 3 === 0 ? " tool" : ""}`;
    const channel = CHANNELS[n % CHANNELS.length] as string;
    const message = { id, channel, person, text, acknowledged: false };
    this.written.push(message);
    this.#said.set(person, (this.#said.get(person) ?? 0) + 1);
    const queue = this.#queues.get(person) ?? [];
    this.#queues.set(person, [...queue, message]);
  }

  #handNext(person: string): void {
    const message = this.#queues.get(person)?.[0];
    if (!message) return;
    const handed = this.#handed.get(message.id);
    if (handed?.to.living && performance.now() - handed.at < PATIENCE_MS) return;
    const toolkit = this.#toolkit().filter(({ living }) => living);
    if (toolkit.length === 0) return;
    const to = this.#random.pick(toolkit);
    this.#handed.set(message.id, { at: performance.now(), to });
    const { channel, id, text } = message;
    to.tell({ say: "in", channel, person, id, text });
  }

  /** Clears missing answers, for instance unconfirmed ones, so that their people write again. */
  forgive(): void {
    for (const [person, said] of this.#said)
      this.#answered.set(person, Math.max(said, this.#answered.get(person) ?? 0));
  }
}
