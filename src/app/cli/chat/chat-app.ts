/** The chat: a session, a screen, and what keys and typed commands do. Resolves when the person leaves. */
import { matchesKey, type OverlayHandle, type Terminal } from "@earendil-works/pi-tui";
import { pathOf } from "../../client/engine-api.ts";
import type { Transport } from "../../client/transport.ts";
import { ApprovalPanel } from "./approval-panel.ts";
import { ApprovalQueue } from "./approval-queue.ts";
import { ChatScreen } from "./chat-screen.ts";
import { ChatSession, type Conversation } from "./chat-session.ts";
import { type CleanText, cleanLine } from "./clean-text.ts";
import { firstScreen, isOffline } from "./first-screen.ts";
import { followMailbox } from "./mailbox.ts";
import type { RenderSettings, Verbose } from "./render-block.ts";
import type { StatusFacts } from "./status-line.ts";
import { type Theme, themeOf } from "./theme.ts";

export interface ChatOptions {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly transport: Transport;
  readonly user: string;
  readonly conversation: Conversation;
  readonly isInline: boolean;
  readonly version: string;
  readonly place: string;
  readonly isNew: boolean;
  readonly isAttached: boolean;
  readonly command: string;
}

const TWICE_MS = 1_500;

export class ChatApp {
  readonly #options: ChatOptions;
  readonly #theme: Theme;
  readonly #screen: ChatScreen;
  readonly #closing = new AbortController();
  readonly #left = Promise.withResolvers<void>();
  readonly #approvals: ApprovalQueue;
  #session: ChatSession;
  #panel: OverlayHandle | undefined;
  #hint: { readonly text: CleanText; readonly until: number } | undefined;
  #pressed = { key: "", at: 0 };

  constructor(options: ChatOptions) {
    this.#options = options;
    this.#theme = themeOf(options.env);
    const settings: RenderSettings = { theme: this.#theme, verbose: "off", showThinking: false };
    this.#session = this.#newSession(options.conversation);
    this.#screen = new ChatScreen({
      ...{ terminal: options.terminal, theme: this.#theme, settings, isInline: options.isInline },
      facts: () => ({ bottom: this.#bottomFacts(), status: this.#statusFacts() }),
      beforeFrame: () => this.#beforeFrame(),
    });
    this.#approvals = new ApprovalQueue(this.#session.api, () => this.#ask());
    const { editor, tui, log } = this.#screen;
    editor.onSubmit = (text) => this.#submit(text);
    tui.addInputListener((data) => this.#onKey(data));
    log.introduce((width) =>
      firstScreen({ ...options, info: this.#session.info, hasMessages: this.#hasMessages() }, width, this.#theme),
    );
  }

  async run(): Promise<void> {
    this.#screen.start();
    this.#screen.draw();
    void this.#session.attempt(() => this.#session.open());
    void this.#approvals.refresh();
    void followMailbox({
      ...{ api: this.#session.api, user: this.#options.user, session: () => this.#session },
      ...{ nameOf: (agentId) => this.#nameOf(agentId), onDelivery: () => this.#approvals.refresh() },
      signal: this.#closing.signal,
    });
    await this.#left.promise;
    this.#closing.abort();
    this.#session.close();
    this.#screen.stop();
    await this.#options.terminal.drainInput(200);
  }

  leave(): void {
    this.#left.resolve();
  }

  #newSession(conversation: Conversation): ChatSession {
    const { transport, user } = this.#options;
    return new ChatSession({
      ...{ transport, user, conversation },
      onChange: () => this.#screen?.draw(),
      onEvent: (type) => {
        if (type === "approval" || type === "end" || type === "open") void this.#approvals.refresh();
      },
    });
  }

  #hasMessages(): boolean {
    const { blocks, pending } = this.#session.state;
    return blocks.length > 0 || pending.length > 0;
  }

  #beforeFrame(): void {
    const session = this.#session;
    session.flush();
    const { renderer, log, scroll } = this.#screen;
    const verbose = verboseOf(session.info?.verbose);
    const showThinking = session.info?.reasoning === "on";
    const { settings } = renderer;
    if (settings.verbose !== verbose || settings.showThinking !== showThinking) {
      renderer.set({ ...settings, verbose, showThinking });
    }
    log.show(session.state);
    this.#screen.animate(session.state.live !== undefined || session.connection === "lost");
    if (session.hasOlder && !scroll.isFollowingEnd && scroll.scrollTop === 0) void this.#loadOlder();
  }

  /** What is on the screen stays where it is. */
  async #loadOlder(): Promise<void> {
    const { scroll, tui, log } = this.#screen;
    const width = tui.terminal.columns;
    const before = log.render(width).length;
    if (!(await this.#session.loadOlder())) return;
    log.show(this.#session.state);
    scroll.scrollTo(scroll.scrollTop + log.render(width).length - before, { disableFollow: true });
    this.#screen.draw();
  }

  #submit(text: string): void {
    const typed = text.trim();
    if (typed === "") return;
    this.#screen.editor.addToHistory(typed);
    this.#screen.scroll.scrollToEnd();
    if (typed === "/quit" || typed === "/exit") this.leave();
    else this.#session.send(typed);
  }

  #onKey(data: string): { consume: true } | undefined {
    const { editor, tui } = this.#screen;
    if (matchesKey(data, "ctrl+c")) return this.#interrupt();
    if (tui.hasOverlay() || editor.isShowingAutocomplete()) return undefined;
    if (matchesKey(data, "ctrl+d") && editor.getText() === "") {
      this.leave();
      return { consume: true };
    }
    if (matchesKey(data, "escape")) return this.#escape();
    return undefined;
  }

  #interrupt(): { consume: true } {
    const { editor } = this.#screen;
    if (editor.getText() !== "") editor.setText("");
    else if (this.#isTwice("ctrl+c")) this.leave();
    else this.#showHint("Press Ctrl+C again to leave. What runs goes on with the engine." as CleanText);
    this.#screen.draw();
    return { consume: true };
  }

  #escape(): { consume: true } {
    if (this.#session.state.live) {
      void this.#session.abort();
      this.#showHint("Stopping." as CleanText);
    }
    return { consume: true };
  }

  #isTwice(key: string): boolean {
    const now = performance.now();
    const isTwice = this.#pressed.key === key && now - this.#pressed.at < TWICE_MS;
    this.#pressed = { key, at: now };
    return isTwice;
  }

  #showHint(text: CleanText): void {
    this.#hint = { text, until: performance.now() + TWICE_MS };
    setTimeout(() => this.#screen.draw(), TWICE_MS + 20).unref();
    this.#screen.draw();
  }

  /** Shows the next question, if the person is not typing. */
  #ask(): void {
    const { editor, tui } = this.#screen;
    const [approval] = this.#approvals.open;
    if (!approval || this.#panel || editor.getText() !== "") {
      this.#screen.draw();
      return;
    }
    const panel = new ApprovalPanel(this.#theme, approval, (answer) => {
      this.#panel?.hide();
      this.#panel = undefined;
      void this.#session.attempt(() => this.#approvals.answer(approval, answer));
    });
    this.#panel = tui.showOverlay(panel, { anchor: "bottom-center", width: "100%", maxHeight: "70%", offsetY: -4 });
    this.#screen.draw();
  }

  async #nameOf(agentId: string): Promise<string | undefined> {
    const agent = await this.#session.api
      .get<{ label?: string }>(pathOf("api", "agents", agentId))
      .catch(() => undefined);
    return agent?.label;
  }

  #bottomFacts() {
    const { state, connection } = this.#session;
    const now = performance.now();
    const hint = this.#hint && now < this.#hint.until ? this.#hint.text : undefined;
    return { state, connection, now: Date.now(), hint };
  }

  #statusFacts(): StatusFacts {
    const { info, connection, state, waiting, conversation } = this.#session;
    const { used, window } = info?.context ?? { used: null, window: null };
    return {
      agent: cleanLine(conversation.thread ?? conversation.agent ?? "main", 24),
      model: info?.model ? cleanLine(shortModel(info.model), 30) : undefined,
      isOffline: isOffline(info?.model),
      context: used !== null && window !== null ? { used, window } : undefined,
      dollars: info?.today.dollars ?? 0,
      tokens: info?.today.tokens ?? 0,
      queueMode: info ? cleanLine(info.queueMode, 16) : undefined,
      waiting,
      approvals: this.#approvals.open.length,
      background: 0,
      unread: 0,
      connection,
      isBusy: state.live !== undefined,
    };
  }
}

/** Without the provider. */
const shortModel = (model: string): string => model.slice(model.indexOf("/") + 1);

const verboseOf = (level: string | null | undefined): Verbose => (level === "on" || level === "full" ? level : "off");
