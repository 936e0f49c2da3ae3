/**
 * Shows people that their answer is being written, on channels that can show it: typing, drafts. It follows the events of runs on
 * this node and leaves no row (M28). A run whose answer goes nowhere, and a run that no person waits for, is not shown.
 */
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Connector, LiveView } from "../../core/ports/connector.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunEvent, RunEvents } from "../runtime/run-events.ts";

interface Shown {
  readonly view: LiveView;
  text: string;
}

/** More than any channel shows. */
const MAX_TEXT = 100_000;

interface LiveViewsDeps {
  readonly events: Pick<RunEvents, "listenToOwn">;
  readonly connectors: ReadonlyMap<string, Connector>;
  live(agentId: AgentId): LiveRun | undefined;
  /** The visible part of the text so far. Absent: all of it. */
  shownOf?(text: string): string;
}

export class LiveViews {
  readonly #deps: LiveViewsDeps;
  readonly #shown = new Map<RunId, Shown>();
  #stop: (() => void) | undefined;

  constructor(deps: LiveViewsDeps) {
    this.#deps = deps;
  }

  /** Listens only while a connector can show something: deltas of text cost time. */
  refresh(): void {
    const wanted = [...this.#deps.connectors.values()].some(({ view }) => view !== undefined);
    if (wanted) this.#stop ??= this.#deps.events.listenToOwn((event) => this.#on(event));
    else this.stop();
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    for (const { view } of this.#shown.values()) view.close();
    this.#shown.clear();
  }

  #on(event: RunEvent): void {
    switch (event.type) {
      case "start":
      case "restart":
        this.#open(event);
        break;
      case "delta":
        this.#delta(event);
        break;
      case "tool_start":
        this.#openIfLive(event);
        this.#shown.get(event.runId)?.view.status(`⚙️ ${event.name}`);
        break;
      case "tool_update":
        this.#shown.get(event.runId)?.view.status(`⚙️ ${event.text}`);
        break;
      case "step":
        // The next text is another message of the model.
        this.#forgetText(event.runId);
        break;
      case "approval":
      case "end":
        this.#close(event.runId);
        break;
      default:
    }
  }

  #open({ agentId, runId }: RunEvent): void {
    const before = this.#shown.get(runId);
    if (before) {
      before.text = "";
      return;
    }
    const run = this.#deps.live(agentId);
    if (run?.id !== runId || run.body.trigger || run.body.memoryFlush || !run.body.delivery) return;
    const { delivery, replyToId } = run.body;
    const view = this.#deps.connectors.get(delivery.channel ?? "")?.view?.(delivery, { runId, agentId, replyToId });
    if (view) this.#shown.set(runId, { view, text: "" });
  }

  /** A run that was resumed is not live at its `restart`. */
  #openIfLive(event: RunEvent): void {
    if (!this.#shown.has(event.runId)) this.#open(event);
  }

  #delta(event: Extract<RunEvent, { type: "delta" }>): void {
    this.#openIfLive(event);
    const shown = this.#shown.get(event.runId);
    if (!shown || event.stream !== "text" || shown.text.length > MAX_TEXT) return;
    shown.text += event.text;
    shown.view.text(this.#deps.shownOf?.(shown.text) ?? shown.text);
  }

  #forgetText(runId: RunId): void {
    const shown = this.#shown.get(runId);
    if (shown) shown.text = "";
  }

  #close(runId: RunId): void {
    this.#shown.get(runId)?.view.close();
    this.#shown.delete(runId);
  }
}
