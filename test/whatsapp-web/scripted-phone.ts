/** The phone of a test, for processes that load `scripted-baileys.mjs`. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

interface Event {
  readonly name: string;
  readonly value: object;
}

export class ScriptedPhone {
  readonly sent: {
    readonly jid: string;
    readonly text?: string;
    readonly content: Readonly<Record<string, unknown>>;
    readonly messageId: string;
  }[] = [];
  /** The numbers for which a code was asked. */
  readonly paired: string[] = [];
  /** The sockets that were opened, each an account or a new connection of one. */
  sockets = 0;
  readonly #polls = new Map<number, ServerResponse>();
  readonly #waiting = new Map<number, Event[]>();
  readonly #server = createServer(async (request, response) => {
    const body = JSON.parse((await text(request)) || "{}") as { socket: number; phone: string };
    if (request.url === "/next") {
      this.sockets = Math.max(this.sockets, body.socket);
      this.#polls.set(body.socket, response);
      return this.#flush(body.socket);
    }
    if (request.url === "/pair") {
      this.paired.push(body.phone);
      return void response.end(JSON.stringify({ code: "K7XM-2PQR" }));
    }
    this.sent.push(body as never);
    response.end("{}");
  });

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A socket emits something. */
  emit(socket: number, name: string, value: object): void {
    this.#waiting.set(socket, [...(this.#waiting.get(socket) ?? []), { name, value }]);
    this.#flush(socket);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #flush(socket: number): void {
    const [poll, events] = [this.#polls.get(socket), this.#waiting.get(socket)];
    if (!poll || !events?.length) return;
    this.#polls.delete(socket);
    this.#waiting.delete(socket);
    poll.end(JSON.stringify(events));
  }
}
