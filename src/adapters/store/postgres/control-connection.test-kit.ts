/** A control connection on clients that answer what a test says, with a clock that stands still. */
import { EventEmitter } from "node:events";
import { vi } from "vitest";
import { ControlConnection } from "./control-connection.ts";

export const stopClock = (): void =>
  void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });

export class Client extends EventEmitter {
  readonly queries: string[] = [];
  readonly texts: string[] = [];
  isEnded = false;
  readonly answer: (text: string) => unknown;

  constructor(answer: (text: string) => unknown) {
    super();
    this.answer = answer;
  }

  async query(text: string, values: unknown[] = []): Promise<unknown> {
    const short = text.startsWith("SET") ? "listen" : text.replace(/^SELECT pg_|^SELECT |\(.*$/g, "").slice(0, 24);
    this.queries.push([short, ...values.flat()].join(" "));
    this.texts.push(text);
    return this.answer(text);
  }

  async end(): Promise<void> {
    await this.answer("end");
    this.isEnded = true;
    this.emit("end");
  }
}

export function world() {
  const clients: Client[] = [];
  const state = {
    refuse: 0,
    held: true,
    hangs: false,
    fails: false,
    failsLock: false,
    breaksAtLock: false,
    breaksAfterMark: false,
  };
  /** Statements with such a text are answered only after these. */
  const slow = new Map<string, Promise<void>>();
  const connections = {
    options: { schema: "s" },
    own: async () => {
      await slow.get("connect");
      if (state.refuse-- > 0) throw new Error("no database");
      const client = new Client(async (text) => {
        for (const [part, until] of slow) if (text.includes(part)) await until;
        if (text === "end") return;
        if (state.fails || (state.failsLock && text.includes("'.node'"))) throw new Error("cut");
        if (state.breaksAtLock && text.includes("'.node'")) {
          state.breaksAtLock = false;
          client.emit("end");
          throw new Error("cut");
        }
        if (state.breaksAfterMark && text.startsWith("UPDATE nodes")) {
          state.breaksAfterMark = false;
          client.emit("end");
        }
        if (state.hangs && text === "SELECT 1") return new Promise(() => {});
        return { rows: [{ held: state.held }] };
      });
      clients.push(client);
      return client;
    },
  } as never;
  const control = new ControlConnection(connections, "me-1");
  /** Statements with this text hang until what this returns is called. */
  const hang = (part: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    slow.set(part, promise);
    return () => {
      slow.delete(part);
      resolve();
    };
  };
  const last = (): Client => clients.at(-1) as Client;
  const asked = (): readonly string[] => last().queries.splice(0);
  return { connections, control, clients, state, hang, last, asked };
}

export const turns = async (): Promise<void> => {
  for (let n = 0; n < 6; n++) await new Promise((resolve) => setImmediate(resolve));
};

export const pass = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
  await turns();
};
