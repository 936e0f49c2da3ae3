/** Shows the questions of the open conversation, one after another. Those of other agents are only counted: they never take keys. */

import type { OverlayHandle } from "@earendil-works/pi-tui";
import { backgroundTimeout } from "../../../adapters/system/background-timers.ts";
import type { EngineApi } from "../../client/engine-api.ts";
import { ApprovalPanel, type AskedApproval, QUIET_MS } from "./approval-panel.ts";
import { ApprovalQueue } from "./approval-queue.ts";
import type { ChatScreen } from "./chat-screen.ts";
import { PANEL_PLACE } from "./picker.ts";
import type { Theme } from "./theme.ts";

interface ApprovalOverlayOptions {
  readonly api: EngineApi;
  readonly screen: ChatScreen;
  readonly theme: Theme;
  /** Whether it is the agent of the open conversation. */
  readonly isOpen: (agentId: string) => boolean;
  /** Shows an error instead of throwing it. */
  readonly attempt: (work: () => Promise<void>) => Promise<unknown>;
}

export class ApprovalOverlay {
  readonly #options: ApprovalOverlayOptions;
  readonly #queue: ApprovalQueue;
  #shown: { readonly id: string; readonly panel: ApprovalPanel; readonly handle: OverlayHandle } | undefined;
  #isReading = false;

  constructor(options: ApprovalOverlayOptions) {
    this.#options = options;
    this.#queue = new ApprovalQueue(options.api, () => void this.show());
  }

  /** All that wait, also those put off. */
  get count(): number {
    return this.#queue.count;
  }

  refresh(): Promise<void> {
    return this.#queue.refresh();
  }

  /** Takes the keys that choose an answer, while the input has the focus and nothing in it. */
  handleKey(data: string): boolean {
    if (!this.#shown || !this.#options.screen.editor.focused) return false;
    const isTaken = this.#shown.panel.handleKey(data);
    if (isTaken) this.#options.screen.draw();
    return isTaken;
  }

  /** Shows the next question. One that was answered elsewhere, or belongs to a conversation that was left, disappears. */
  async show(): Promise<void> {
    const { screen, isOpen } = this.#options;
    screen.draw();
    const open = this.#queue.open.filter(({ agentId }) => isOpen(agentId));
    if (this.#shown && !open.some(({ id }) => id === this.#shown?.id)) this.#hide();
    const [next] = open;
    if (!next || this.#shown || this.#isReading) return;
    this.#isReading = true;
    const approval = await this.#queue.read(next);
    this.#isReading = false;
    if (approval && !this.#shown && isOpen(approval.agentId)) this.#open(approval);
  }

  #open(approval: AskedApproval): void {
    const { screen, theme, attempt } = this.#options;
    const { editor, tui } = screen;
    const panel = new ApprovalPanel({
      ...{ theme, approval },
      answer: (answer) => {
        this.#hide();
        void attempt(() => this.#queue.answer(approval, answer));
      },
      rows: () => Math.floor(tui.terminal.rows * 0.8) - 1,
      isTyping: () => editor.getText() !== "",
    });
    const handle = tui.showOverlay(panel, { ...PANEL_PLACE, nonCapturing: true });
    this.#shown = { id: approval.id, panel, handle };
    screen.draw();
    // Then it shows the answers.
    backgroundTimeout(() => screen.draw(), QUIET_MS + 1);
  }

  #hide(): void {
    this.#shown?.handle.hide();
    this.#shown = undefined;
    this.#options.screen.draw();
  }
}
