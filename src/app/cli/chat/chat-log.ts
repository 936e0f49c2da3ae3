/** What the open conversation shows, and the one place where it changes. */
import { newKey } from "../../client/engine-api.ts";
import { type ChatState, EMPTY_CHAT, withBlock } from "./chat-state.ts";
import { clean, cleanLine } from "./clean-text.ts";
import { splitText } from "./split-markdown.ts";

export interface NoticeOptions {
  readonly title?: string;
  readonly isError?: boolean;
}

export class ChatLog {
  #state: ChatState = EMPTY_CHAT;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get state(): ChatState {
    return this.#state;
  }

  update(change: (state: ChatState) => ChatState): void {
    this.#state = change(this.#state);
    this.#onChange();
  }

  /** Shows something that is in no history. */
  notice(text: string, { title, isError = false }: NoticeOptions = {}): void {
    const pieces = splitText(clean(text));
    const shown = title === undefined ? undefined : cleanLine(title);
    this.update((state) => withBlock(state, { kind: "notice", key: newKey(), pieces, isError, title: shown }));
  }
}
