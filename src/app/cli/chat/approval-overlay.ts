/** Shows the questions that wait, one after another, while the person is not typing. */

import type { OverlayHandle } from "@earendil-works/pi-tui";
import { backgroundTimeout } from "../../../adapters/system/background-timers.ts";
import type { EngineApi } from "../../client/engine-api.ts";
import { ApprovalPanel, type AskedApproval, QUIET_MS } from "./approval-panel.ts";
import { ApprovalQueue } from "./approval-queue.ts";
import type { ChatScreen } from "./chat-screen.ts";
import { PANEL_PLACE } from "./picker.ts";
import type { Theme } from "./theme.ts";

export interface ApprovalOverlayOptions {
  readonly api: EngineApi;
  readonly screen: ChatScreen;
  readonly theme: Theme;
  /** How an agent is called on the screen. */
  readonly nameOf: (agentId: string) => Promise<string | undefined>;
  /** Shows an error instead of throwing it. */
  readonly attempt: (work: () => Promise<void>) => Promise<unknown>;
}

export class ApprovalOverlay {
  readonly #options: ApprovalOverlayOptions;
  readonly #queue: ApprovalQueue;
  #panel: { readonly id: string; readonly handle: OverlayHandle } | undefined;
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

  /** Shows the next question, unless the person is typing. A question that was answered elsewhere disappears. */
  async show(): Promise<void> {
    const { screen } = this.#options;
    screen.draw();
    if (this.#panel && !this.#queue.open.some(({ id }) => id === this.#panel?.id)) this.#hide();
    const [next] = this.#queue.open;
    if (!next || this.#panel || this.#isReading || screen.editor.getText() !== "") return;
    this.#isReading = true;
    const [approval, from] = await Promise.all([this.#queue.read(next), this.#options.nameOf(next.agentId)]);
    this.#isReading = false;
    if (approval && !this.#panel && screen.editor.getText() === "") this.#open({ ...approval, from });
  }

  #open(approval: AskedApproval): void {
    const { screen, theme, attempt } = this.#options;
    const panel = new ApprovalPanel(theme, approval, (answer) => {
      this.#hide();
      void attempt(() => this.#queue.answer(approval, answer));
    });
    this.#panel = { id: approval.id, handle: screen.tui.showOverlay(panel, PANEL_PLACE) };
    screen.draw();
    // Then it shows the answers.
    backgroundTimeout(() => screen.draw(), QUIET_MS + 1);
  }

  #hide(): void {
    this.#panel?.handle.hide();
    this.#panel = undefined;
    this.#options.screen.draw();
  }
}
