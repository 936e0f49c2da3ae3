/** What keys do beyond typing: stop a run, go back, choose a conversation, leave. Some need a second press, and say so. */

import { matchesKey } from "@earendil-works/pi-tui";
import { backgroundTimeout } from "../../../adapters/system/background-timers.ts";
import type { ChatScreen } from "./chat-screen.ts";
import type { CleanText } from "./clean-text.ts";
import { doublePress } from "./double-press.ts";

interface KeyActions {
  readonly screen: ChatScreen;
  /** Whether the question that is shown took the key. */
  answers(data: string): boolean;
  isWorking(): boolean;
  hasMessages(): boolean;
  abort(): void;
  goBack(): void;
  pickAgent(): void;
  leave(): void;
}

type Handled = { readonly consume: true } | undefined;

const TWICE_MS = 1_500;
const CONSUMED = { consume: true } as const;

export class ChatKeys {
  readonly #actions: KeyActions;
  readonly #isTwice = doublePress(TWICE_MS);
  #hint: { readonly text: CleanText; readonly until: number } | undefined;

  constructor(actions: KeyActions) {
    this.#actions = actions;
  }

  /** What a second press of the last key would do. */
  get hint(): CleanText | undefined {
    return this.#hint && performance.now() < this.#hint.until ? this.#hint.text : undefined;
  }

  handle(data: string): Handled {
    const { screen, leave, pickAgent } = this.#actions;
    const { editor } = screen;
    if (matchesKey(data, "ctrl+c")) return this.#interrupt();
    if (this.#actions.answers(data)) return CONSUMED;
    if (!editor.focused || editor.isShowingAutocomplete()) return undefined;
    if (matchesKey(data, "escape")) return this.#escape();
    if (matchesKey(data, "ctrl+d") && editor.getText() === "") leave();
    else if (matchesKey(data, "ctrl+t")) pickAgent();
    else return undefined;
    return CONSUMED;
  }

  #interrupt(): Handled {
    const { editor } = this.#actions.screen;
    if (editor.getText() !== "") editor.setText("");
    else if (this.#isTwice("ctrl+c")) this.#actions.leave();
    else this.#show("Press Ctrl+C again to leave. What runs goes on with the engine." as CleanText);
    this.#actions.screen.draw();
    return CONSUMED;
  }

  #escape(): Handled {
    const { isWorking, hasMessages, abort, goBack } = this.#actions;
    if (this.#isTwice("escape")) goBack();
    else if (isWorking()) {
      abort();
      this.#show("Stopping. Esc again goes back to an earlier message." as CleanText);
    } else if (hasMessages()) this.#show("Esc again goes back to an earlier message." as CleanText);
    return CONSUMED;
  }

  #show(text: CleanText): void {
    const { screen } = this.#actions;
    this.#hint = { text, until: performance.now() + TWICE_MS };
    backgroundTimeout(() => screen.draw(), TWICE_MS + 20);
    screen.draw();
  }
}
