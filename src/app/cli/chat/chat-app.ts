/** The chat: a session, a screen, and what typed commands do. */

import type { SelectItem, Terminal } from "@earendil-works/pi-tui";
import { errorText } from "../../../core/errors.ts";
import { chatCommands } from "../../../engine/commands/chat-commands.ts";
import { EngineApi, pathOf } from "../../client/engine-api.ts";
import type { Transport } from "../../client/transport.ts";
import { ApprovalOverlay } from "./approval-overlay.ts";
import { attachmentsOf } from "./attachments.ts";
import { ChatKeys } from "./chat-keys.ts";
import { ChatScreen } from "./chat-screen.ts";
import { ChatSession } from "./chat-session.ts";
import { agentChoices, earlierMessages } from "./choices.ts";
import { cleanLine } from "./clean-text.ts";
import { completionOf } from "./completion.ts";
import { conversationNamed } from "./conversation-name.ts";
import { firstScreen } from "./first-screen.ts";
import type { InputHistory } from "./input-history.ts";
import { type ChatActions, LOCAL_COMMANDS, localCommand, ONLY_THE_OWNER } from "./local-commands.ts";
import { followMailbox } from "./mailbox.ts";
import { OtherAgents } from "./other-agents.ts";
import { PANEL_PLACE, Picker } from "./picker.ts";
import type { RenderSettings, Verbose } from "./render-block.ts";
import { statusFacts } from "./status-facts.ts";
import type { StatusFacts } from "./status-line.ts";
import type { Conversation } from "./terminal-info.ts";
import { type Theme, themeOf } from "./theme.ts";

export interface ChatOptions {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly transport: Transport;
  readonly conversation: Conversation;
  readonly isInline: boolean;
  readonly version: string;
  readonly place: string;
  readonly isNew: boolean;
  readonly isAttached: boolean;
  readonly isRemote: boolean;
  readonly command: string;
  readonly cwd: string;
  readonly history: InputHistory;
}

const LEAVE_MS = 2_000;

export class ChatApp {
  readonly #options: ChatOptions;
  readonly #theme: Theme;
  readonly #screen: ChatScreen;
  readonly #closing = new AbortController();
  readonly #left = Promise.withResolvers<void>();
  readonly #approvals: ApprovalOverlay;
  readonly #others: OtherAgents;
  readonly #keys: ChatKeys;
  readonly #api: EngineApi;
  #session: ChatSession;

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
    const screen = this.#screen;
    this.#approvals = new ApprovalOverlay({
      ...{ api: this.#api, screen, theme: this.#theme, isOpen: (agentId) => agentId === this.#session.agentId },
      attempt: (work) => this.#session.attempt(work),
    });
    this.#others = new OtherAgents({
      ...{ api: this.#api, openAgent: () => this.#session.agentId, signal: this.#closing.signal },
      onChange: () => screen.draw(),
      onQuestion: () => void this.#approvals.refresh(),
    });
    this.#keys = new ChatKeys({
      screen,
      answers: (data) => this.#approvals.handleKey(data),
      isWorking: () => this.#session.state.live !== undefined,
      hasMessages: () => this.#hasMessages(),
      abort: () => void this.#session.abort(),
      goBack: () => this.#goBack(),
      pickAgent: () => void this.#session.attempt(() => this.#pickAgent()),
      leave: () => this.leave(),
    });
    this.#connectInput();
  }

  #connectInput(): void {
    const { editor, tui, log } = this.#screen;
    const { cwd, history } = this.#options;
    const commands = [...chatCommands, ...LOCAL_COMMANDS].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    editor.setAutocompleteProvider(completionOf({ commands, cwd }));
    for (const entry of history.entries) editor.addToHistory(entry);
    editor.onSubmit = (text) => this.#submit(text);
    tui.addInputListener((data) => this.#keys.handle(data));
    log.introduce((width) =>
      firstScreen({ ...this.#options, info: this.#session.info, hasMessages: this.#hasMessages() }, width, this.#theme),
    );
  }

  /** Resolves when the person leaves, with the messages that no engine has accepted. */
  async run(): Promise<readonly string[]> {
    this.#screen.start();
    this.#screen.draw();
    void this.#follow();
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

  async #follow(): Promise<void> {
    void this.#approvals.refresh();
    void this.#others.follow();
    const session = this.#session;
    await session.attempt(() => session.open());
    if (!session.info) return;
    await followMailbox({
      ...{ api: this.#api, terminal: session.info.terminal ?? undefined, session: () => this.#session },
      ...{ nameOf: (agentId) => this.#nameOf(agentId), onDelivery: () => this.#approvals.refresh() },
      signal: this.#closing.signal,
    });
  }

  #newSession(conversation: Conversation): ChatSession {
    const { transport } = this.#options;
    return new ChatSession({
      ...{ transport, conversation },
      onChange: () => this.#screen?.draw(),
      onEvent: (type) => {
        if (type === "approval" || type === "open") void this.#approvals.refresh();
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
    const showThinking = THOUGHTS.has(session.info?.reasoning ?? "off");
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
      open: (name) => void this.#open(conversationNamed(name)),
      goBack: () => this.#goBack(),
      search: () => {
        if (!this.#screen.search()) this.#session.notice("On the normal screen, use the search of your terminal.");
      },
      leave: () => this.leave(),
    };
  }

  /** Another conversation on the same screen. If there is none like that, the last one again. */
  async #open(conversation: Conversation): Promise<void> {
    const last = this.#session;
    void last.leave();
    const session = this.#newSession(conversation);
    this.#session = session;
    void this.#approvals.show();
    try {
      await session.open();
      if (session.agentId !== undefined) this.#others.opened(session.agentId);
      void this.#approvals.show();
      this.#screen.scroll.scrollToEnd();
    } catch (error) {
      if (this.#session !== session || this.#closing.signal.aborted) return;
      if (last.info) await this.#open(last.conversation);
      this.#session.notice(errorText(error), { isError: true });
    }
  }

  async #pickAgent(): Promise<void> {
    const { items, conversationOf } = await agentChoices(this.#others);
    this.#pick("conversations and agents", items, "There are none yet.", (id) => {
      const conversation = conversationOf(id);
      if (conversation) void this.#open(conversation);
    });
  }

  /** Chooses an earlier message of this session: the conversation continues before it, and its text is in the input. */
  #goBack(): void {
    if (this.#session.info?.terminal === null) {
      this.#session.notice(ONLY_THE_OWNER);
      return;
    }
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
    const picker = new Picker({
      ...{ title, items, empty, rows, theme: this.#theme },
      onPick: (value) => {
        handle.hide();
        if (value !== undefined) done(value);
        this.#screen.draw();
      },
    });
    const handle = tui.showOverlay(picker, PANEL_PLACE);
    this.#screen.draw();
  }

  async #nameOf(agentId: string): Promise<string | undefined> {
    const agent = await this.#api.get<{ name?: string }>(pathOf("api", "agents", agentId)).catch(() => undefined);
    return agent?.name;
  }

  #bottomFacts() {
    const { state, connection } = this.#session;
    return { state, connection, now: Date.now(), hint: this.#keys.hint };
  }

  #statusFacts(): StatusFacts {
    const { working: background, unread } = this.#others;
    return statusFacts(this.#session, { background, unread, approvals: this.#approvals.count });
  }
}

/** The settings that show thoughts. */
const THOUGHTS: ReadonlySet<string> = new Set(["on", "reasoning"]);

const verboseOf = (level: string | null | undefined): Verbose => (level === "on" || level === "full" ? level : "off");
