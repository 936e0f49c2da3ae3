/**
 * Threads of this process. A thread that waits for work does not keep the process alive; one that must answer or end does (M49).
 * All threads start here.
 */
import { EventEmitter } from "node:events";
// Not by name: an older Node has no such export, and must get as far as the sentence that says so.
import * as nodeModule from "node:module";
import { MessageChannel, type MessagePort, Worker, type WorkerOptions } from "node:worker_threads";
import type { RookeryError } from "../../core/errors.ts";
import { backgroundTimeout } from "./background-timers.ts";

export interface ThreadCode {
  /** The module the thread runs, beside `from`, without its ending. */
  readonly module: string;
  readonly from: string;
}

/** The thread does not keep the process alive. `terminate` does, until the thread has ended. */
export function startWorker(code: ThreadCode, options: WorkerOptions): Worker {
  const worker = new Worker(sourceOf(code), { ...options, eval: true });
  worker.unref();
  return worker;
}

/** A thread does not inherit the compile cache: without it, it would compile all code again and use as much memory. */
function sourceOf({ module, from }: ThreadCode): string {
  const cache = nodeModule.getCompileCacheDir();
  const enable = cache ? `require("node:module").enableCompileCache(${JSON.stringify(cache)});` : "";
  const url = new URL(`${module}${from.endsWith(".ts") ? ".ts" : ".js"}`, from).href;
  return `${enable} import(${JSON.stringify(url)});`;
}

/** The part of `Worker` that a `Thread` uses: messages, and the events `message`, `error` and `exit`. */
export type WorkerLike = Pick<EventEmitter, "on" | "once"> & Pick<Worker, "postMessage" | "ref" | "unref">;

/** The message that connects a user to a shared thread. */
export interface ThreadUser<Data> {
  readonly port: MessagePort;
  readonly data: Data;
}

/** How long an idle shared thread stays: loading its code again costs more than a quarter of a second. */
const IDLE_MS = 10_000;

/**
 * One thread with several users, each with a port of its own. A user's `exit` is the end of its port. The thread ends some time
 * after its last user.
 */
export class SharedThread<Data> {
  readonly #start: () => Worker;
  readonly #users = new Set<EventEmitter>();
  #worker: Worker | undefined;
  #end: NodeJS.Timeout | undefined;

  constructor(start: () => Worker) {
    this.#start = start;
  }

  connect(data: Data): WorkerLike {
    clearTimeout(this.#end);
    const { port1, port2 } = new MessageChannel();
    const events = new EventEmitter();
    this.#users.add(events);
    port1.on("message", (message) => events.emit("message", message));
    port1.once("close", () => this.#leave(events));
    port1.unref();
    this.#worker ??= this.#begin();
    this.#worker.postMessage({ port: port2, data } satisfies ThreadUser<Data>, [port2]);
    return Object.assign(events, {
      postMessage: (message: unknown) => port1.postMessage(message),
      ref: () => port1.ref(),
      unref: () => port1.unref(),
    });
  }

  #begin(): Worker {
    const worker = this.#start();
    worker.on("error", (error) => {
      for (const user of this.#users) user.emit("error", error);
    });
    worker.once("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }

  #leave(user: EventEmitter): void {
    this.#users.delete(user);
    user.emit("exit");
    if (this.#users.size > 0) return;
    this.#end = backgroundTimeout(() => {
      const worker = this.#worker;
      this.#worker = undefined;
      void worker?.terminate();
    }, IDLE_MS);
  }
}

/** Why a thread could not do what it was asked. */
export interface ThreadFailure {
  readonly text: string;
  readonly code?: string;
}

/** The thread's answer to the question with this id. */
export interface ThreadAnswer {
  readonly type: "done";
  readonly id: number;
  readonly value?: unknown;
  readonly error?: ThreadFailure;
}

interface ThreadHandlers<Notice> {
  /** Called with each message that is not an answer. */
  readonly onNotice: (notice: Notice) => void;
  readonly onError: (error: Error) => void;
  readonly onExit: () => void;
  /** The error for a question that failed; without a failure: the thread ended before it answered. */
  readonly errorOf: (failure?: ThreadFailure) => RookeryError;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: RookeryError) => void;
}

/** A thread that answers questions, each with an id, and ends after the answer to the last one. */
export class Thread<Question extends object, Notice extends { readonly type: string }> {
  readonly #worker: WorkerLike;
  readonly #handlers: ThreadHandlers<Notice>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #hasExited = false;
  #ids = 0;
  #holds = 0;

  constructor(worker: WorkerLike, handlers: ThreadHandlers<Notice>) {
    this.#worker = worker;
    this.#handlers = handlers;
    worker.on("message", (message: ThreadAnswer | Notice) => this.#receive(message));
    worker.on("error", handlers.onError);
    this.#exited = new Promise((resolve) => {
      worker.once("exit", () => {
        this.#exit();
        resolve();
      });
    });
  }

  post(message: object): void {
    this.#worker.postMessage(message);
  }

  ask(question: Question): Promise<unknown> {
    if (this.#hasExited) return Promise.reject(this.#handlers.errorOf());
    this.#ids += 1;
    const id = this.#ids;
    const answered = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...question, id });
    });
    return this.#holding(answered);
  }

  /** Asks the question after which the thread ends. Settles when it has ended. */
  askLast(question: Question): Promise<unknown> {
    return this.#holding(this.ask(question).finally(() => this.#exited));
  }

  /** The thread keeps the process alive until the promise has settled. */
  #holding<Value>(promise: Promise<Value>): Promise<Value> {
    this.#holds += 1;
    if (this.#holds === 1) this.#worker.ref();
    return promise.finally(() => {
      this.#holds -= 1;
      if (this.#holds === 0) this.#worker.unref();
    });
  }

  #receive(message: ThreadAnswer | Notice): void {
    if (!isAnswer(message)) {
      this.#handlers.onNotice(message);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error) waiting?.reject(this.#handlers.errorOf(message.error));
    else waiting?.resolve(message.value);
  }

  #exit(): void {
    this.#hasExited = true;
    for (const { reject } of this.#waiting.values()) reject(this.#handlers.errorOf());
    this.#waiting.clear();
    this.#handlers.onExit();
  }
}

const isAnswer = (message: { readonly type: string }): message is ThreadAnswer => message.type === "done";
