/** The chat: a session, a screen, and what keys and typed commands do. */
import { matchesKey, type OverlayHandle, type SelectItem, type Terminal } from "@earendil-works/pi-tui";
import { chatCommands } from "../../../engine/commands/chat-commands.ts";
import { EngineApi, pathOf } from "../../client/engine-api.ts";
import type { Transport } from "../../client/transport.ts";
import { ApprovalPanel } from "./approval-panel.ts";
import { ApprovalQueue } from "./approval-queue.ts";
import { attachmentsOf } from "./attachments.ts";
import { ChatScreen } from "./chat-screen.ts";
import { ChatSession } from "./chat-session.ts";
import { agentChoices, earlierMessages } from "./choices.ts";
import { type CleanText, cleanLine } from "./clean-text.ts";
import { completionOf } from "./completion.ts";
import { conversationNamed } from "./conversation-name.ts";
import { doublePress } from "./double-press.ts";
import { firstScreen } from "./first-screen.ts";
import type { InputHistory } from "./input-history.ts";
import { type ChatActions, LOCAL_COMMANDS, localCommand } from "./local-commands.ts";
import { followMailbox } from "./mailbox.ts";
import { OtherAgents } from "./other-agents.ts";
import { Picker } from "./picker.ts";
import type { RenderSettings, Verbose } from "./render-block.ts";
import { statusFacts } from "./status-facts.ts";
import type { StatusFacts } from "./status-line.ts";
import type { Conversation } from "./terminal-info.ts";
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
  readonly cwd: string;
  readonly history: InputHistory;
}

const TWICE_MS = 1_500;
const LEAVE_MS = 2_000;

export class ChatApp {
  readonly #options: ChatOptions;
  readonly #theme: Theme;
  readonly #screen: ChatScreen;
  readonly #closing = new AbortController();
  readonly #left = Promise.withResolvers<void>();
  readonly #approvals: ApprovalQueue;
  readonly #others: OtherAgents;
  readonly #api: EngineApi;
  #session: ChatSession;
  #panel: OverlayHandle | undefined;
  #hint: { readonly text: CleanText; readonly until: number } | undefined;
  readonly #isTwice = doublePress(TWICE_MS);

  constructor(options: ChatOptions) {
    this.#options = options;
    this.#theme = themeOf(options.env);
    const settings: RenderSettings = { theme: this.#theme, verbose: "off", showThinking: false };
    this.#api = new EngineApi(options.transport, this.#closing.signal, 1);
    this.#session = this.#newSession(options.conversation);
    this.#screen = new ChatScreen({
      ...{ terminal: options.terminal, theme: this.#theme, settings, isInline: options.isInline },
      facts: () => ({ bottom: this.#bottomFacts(), status: this.#statusFacts() }),
      beforeFrame: () => this.#beforeFrame(),
    });
    this.#approvals = new ApprovalQueue(this.#api, () => this.#ask());
    this.#others = new OtherAgents({
      ...{ api: this.#api, openAgent: () => this.#session.agentId, signal: this.#closing.signal },
      onChange: () => this.#screen.draw(),
    });
    const { editor, tui, log } = this.#screen;
    const commands = [...chatCommands, ...LOCAL_COMMANDS].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    editor.setAutocompleteProvider(completionOf({ commands, cwd: options.cwd }));
    for (const entry of options.history.entries) editor.addToHistory(entry);
    editor.onSubmit = (text) => this.#submit(text);
    tui.addInputListener((data) => this.#onKey(data));
    log.introduce((width) =>
      firstScreen({ ...options, info: this.#session.info, hasMessages: this.#hasMessages() }, width, this.#theme),
    );
  }

  /** Resolves when the person leaves, with the messages that no engine has accepted. */
  async run(): Promise<readonly string[]> {
    this.#screen.start();
    this.#screen.draw();
    void this.#session.attempt(() => this.#session.open());
    void this.#approvals.refresh();
    void followMailbox({
      ...{ api: this.#api, user: this.#options.user, session: () => this.#session },
      ...{ nameOf: (agentId) => this.#nameOf(agentId), onDelivery: () => this.#approvals.refresh() },
      signal: this.#closing.signal,
    });
    void this.#others.follow();
    await this.#left.promise;
    const unsent = await this.#session.leave(LEAVE_MS);
    this.#closing.abort();
    this.#screen.stop();
    await this.#options.terminal.drainInput(200);
    return unsent;
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
    this.#options.history.add(typed);
    this.#screen.scroll.scrollToEnd();
    const session = this.#session;
    const local = localCommand(typed);
    if (local) void session.attempt(async () => local(this.#actions()));
    else session.send(typed, () => attachmentsOf(typed, this.#options.cwd));
  }

  #actions(): ChatActions {
    return {
      ...{ session: this.#session, cwd: this.#options.cwd },
      pickAgent: () => this.#pickAgent(),
      open: (name) => this.#open(conversationNamed(name)),
      goBack: () => this.#goBack(),
      search: () => this.#screen.search(),
      leave: () => this.leave(),
    };
  }

  /** Another conversation on the same screen. */
  #open(conversation: Conversation): void {
    void this.#session.leave();
    this.#session = this.#newSession(conversation);
    const session = this.#session;
    void session.attempt(async () => {
      await session.open();
      if (session.agentId !== undefined) this.#others.opened(session.agentId);
      this.#screen.scroll.scrollToEnd();
    });
    this.#screen.draw();
  }

  async #pickAgent(): Promise<void> {
    const { items, conversationOf } = await agentChoices(this.#others);
    this.#pick("conversations and agents", items, "There are none yet.", (id) => {
      const conversation = conversationOf(id);
      if (conversation) this.#open(conversation);
    });
  }

  /** Chooses an earlier message of this session: the conversation continues before it, and its text is in the input. */
  #goBack(): void {
    const earlier = earlierMessages(this.#session.state);
    const items = earlier.map(({ key, text }) => ({ value: key, label: cleanLine(text, 120) }));
    this.#pick("go back to", items, "There is nothing to go back to.", (key) => {
      const message = earlier.find((one) => one.key === key);
      if (!message) return;
      this.#screen.editor.setText(message.text);
      void this.#session.branch(message.before);
    });
  }

  #pick(title: string, items: readonly SelectItem[], empty: string, done: (value: string) => void): void {
    const { tui } = this.#screen;
    const rows = Math.min(10, tui.terminal.rows - 8);
    const handle = tui.showOverlay(
      new Picker({
        ...{ title, items, empty, rows, theme: this.#theme },
        onPick: (value) => {
          handle.hide();
          if (value !== undefined) done(value);
          this.#screen.draw();
        },
      }),
      { anchor: "bottom-center", width: "100%", maxHeight: "80%", offsetY: -4 },
    );
    this.#screen.draw();
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
    if (matchesKey(data, "ctrl+t")) {
      void this.#session.attempt(() => this.#pickAgent());
      return { consume: true };
    }
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
    if (this.#isTwice("escape")) this.#goBack();
    else if (this.#session.state.live) {
      void this.#session.abort();
      this.#showHint("Stopping. Esc again goes back to an earlier message." as CleanText);
    } else if (this.#hasMessages()) this.#showHint("Esc again goes back to an earlier message." as CleanText);
    return { consume: true };
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
    const agent = await this.#api.get<{ label?: string }>(pathOf("api", "agents", agentId)).catch(() => undefined);
    return agent?.label;
  }

  #bottomFacts() {
    const { state, connection } = this.#session;
    const now = performance.now();
    const hint = this.#hint && now < this.#hint.until ? this.#hint.text : undefined;
    return { state, connection, now: Date.now(), hint };
  }

  #statusFacts(): StatusFacts {
    const { working: background, unread } = this.#others;
    return statusFacts(this.#session, { background, unread, approvals: this.#approvals.count });
  }
}

const verboseOf = (level: string | null | undefined): Verbose => (level === "on" || level === "full" ? level : "off");
