/**
 * One connection to an MCP server: opened with its first use, closed when it is idle, opened again after it broke, with growing pauses.
 * A server that crashes never stops anything but the calls to it.
 */
import { errorText, ServerUnavailableError } from "../../../core/errors.ts";
import { type Clock, sleep } from "../../../core/ports/clock.ts";
import type { McpSession, OpenSession } from "./open-session.ts";

interface LinkSettings {
  readonly idleMs: number;
  readonly startMs: number;
}

interface ServerLinkOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly open: OpenSession;
  readonly settings: () => LinkSettings;
  /** What a session depends on. If it is another one than at the opening, the next use opens another session. */
  readonly dependsOn?: () => Promise<string>;
  /** Called with each new session before its first use. A rejection closes it. */
  readonly onOpened?: (session: McpSession) => Promise<void>;
}

/** A call waits this long for a server that pauses after a failure. */
const MAX_WAIT_MS = 5_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** A server that lived this long has started properly. */
const LIVED_MS = 10_000;

export type LinkState = "idle" | "starting" | "running" | "pausing" | "closed";

export class ServerLink {
  readonly #options: ServerLinkOptions;
  #session: Promise<McpSession> | undefined;
  #opened = false;
  #openedAt = 0;
  #uses = 0;
  #cancelIdle: (() => void) | undefined;
  #dependsOn: string | undefined;
  #failures = 0;
  #retryAt = 0;
  #lastError = "";
  #closed = false;

  constructor(options: ServerLinkOptions) {
    this.#options = options;
  }

  get state(): LinkState {
    if (this.#closed) return "closed";
    if (this.#session) return this.#opened ? "running" : "starting";
    return this.#options.clock.monotonic() < this.#retryAt ? "pausing" : "idle";
  }

  get lastError(): string {
    return this.#lastError;
  }

  /** Rejects with `ServerUnavailableError` if the server cannot be reached now, and with what `work` rejects with. */
  async use<Result>(work: (session: McpSession) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    await this.#renewOutdated();
    this.#uses++;
    this.#cancelIdle?.();
    try {
      return await work(await this.#ready(signal));
    } finally {
      this.#uses--;
      if (this.#uses === 0) this.#stopWhenIdle();
    }
  }

  async #renewOutdated(): Promise<void> {
    const { dependsOn, name } = this.#options;
    const now = await dependsOn?.();
    if (now === this.#dependsOn) return;
    if (this.#uses > 0 && this.#session)
      throw new ServerUnavailableError(`The MCP server ${name} starts again when its other calls have ended.`, {
        hint: "Try again then.",
      });
    await this.#end();
    // The end of a session may put files back.
    this.#dependsOn = await dependsOn?.();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  /** Ends the session, if there is one; the next use opens another. */
  async restart(): Promise<void> {
    this.#failures = 0;
    this.#retryAt = 0;
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#cancelIdle?.();
    const session = this.#session;
    this.#session = undefined;
    this.#opened = false;
    await (await session?.catch(() => undefined))?.close();
  }

  async #ready(signal: AbortSignal | undefined): Promise<McpSession> {
    const { name, clock } = this.#options;
    if (this.#closed) throw new ServerUnavailableError(`The MCP server ${name} is not configured any more.`);
    const wait = this.#session ? 0 : this.#retryAt - clock.monotonic();
    if (wait > MAX_WAIT_MS) throw this.#unavailable(`Try again in ${Math.ceil(wait / 1_000)} seconds.`);
    if (wait > 0) await sleep(clock, wait, signal);
    signal?.throwIfAborted();
    this.#session ??= this.#open();
    return this.#session;
  }

  async #open(): Promise<McpSession> {
    const { open, onOpened, settings, clock } = this.#options;
    let opening: McpSession | undefined;
    try {
      const session = await open(settings().startMs, () => this.#broke(opening));
      opening = session;
      await onOpened?.(session).catch(async (error) => {
        await session.close();
        throw error;
      });
      this.#opened = true;
      this.#openedAt = clock.monotonic();
      return session;
    } catch (error) {
      this.#session = undefined;
      this.#failed(errorText(error));
      throw this.#unavailable(undefined, error);
    }
  }

  /** The session ended by itself. */
  #broke(session: McpSession | undefined): void {
    if (!this.#opened || session === undefined) return;
    const lived = this.#options.clock.monotonic() - this.#openedAt;
    this.#session = undefined;
    this.#opened = false;
    if (lived >= LIVED_MS) this.#failures = 0;
    this.#failed(session.errors() || "it ended");
  }

  /** The first restart is at once: a single crash costs nothing. */
  #failed(why: string): void {
    this.#failures++;
    this.#lastError = why;
    const pause = this.#failures === 1 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#failures - 2));
    this.#retryAt = this.#options.clock.monotonic() + pause;
  }

  #unavailable(hint?: string, cause?: unknown): ServerUnavailableError {
    const text = `The MCP server ${this.#options.name} cannot be used: ${this.#lastError.slice(0, 500)}`;
    return new ServerUnavailableError(text, {
      cause,
      hint: hint ?? `Run \`rookery mcp check ${this.#options.name}\`.`,
    });
  }

  #stopWhenIdle(): void {
    const { clock, settings } = this.#options;
    this.#cancelIdle?.();
    // A use that ends after the link was closed leaves no timer, which would keep the process alive.
    if (this.#closed) return;
    this.#cancelIdle = clock.after(settings().idleMs, () => {
      if (this.#uses === 0) void this.#end();
    });
  }
}
