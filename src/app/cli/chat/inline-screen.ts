/**
 * The normal screen, for `--inline`: the terminal keeps what scrolls away. What has scrolled away and is finished is dropped, so a
 * long conversation costs no more than a short one. The library clears the whole scrollback when it draws anew; this one never does:
 * what the terminal kept stays, also what stood there before the chat.
 */
import { type Terminal, TuiMainScreen } from "@earendil-works/pi-tui";
import type { LogView } from "./log-view.ts";

/** As the library writes it: the screen, then the scrollback. */
const CLEAR_ALL = "\u001b[2J\u001b[H\u001b[3J";
const CLEAR_SCREEN = "\u001b[H\u001b[J";

export class InlineScreen extends TuiMainScreen {
  #log: LogView | undefined;
  #size: { readonly columns: number; readonly rows: number } | undefined;

  constructor(terminal: Terminal) {
    super(keepingScrollback(terminal));
  }

  /** The component whose finished lines are dropped. It is the first one. */
  drops(log: LogView): void {
    this.#log = log;
  }

  protected override doRender(): void {
    const { columns, rows } = this.terminal;
    const isResized = this.#size !== undefined && (this.#size.columns !== columns || this.#size.rows !== rows);
    this.#size = { columns, rows };
    if (isResized) this.#fill(columns, rows);
    super.doRender();
    if (!this.hasOverlay()) this.#drop();
  }

  /** After a change of the size the whole screen is drawn, and nothing that would scroll away a second time. */
  #fill(columns: number, rows: number): void {
    this.#log?.reveal();
    const over = this.render(columns).length - rows;
    if (over > 0) this.#log?.hide(over);
  }

  #drop(): void {
    const state = this.captureRenderState();
    const lines = this.#log?.finishedLines(state.previousViewportTop) ?? 0;
    if (lines === 0) return;
    this.#log?.hide(lines);
    this.restoreRenderState({
      ...state,
      previousLines: state.previousLines.slice(lines),
      cursorRow: state.cursorRow - lines,
      hardwareCursorRow: state.hardwareCursorRow - lines,
      maxLinesRendered: state.maxLinesRendered - lines,
      previousViewportTop: state.previousViewportTop - lines,
    });
  }
}

function keepingScrollback(terminal: Terminal): Terminal {
  return new Proxy(terminal, {
    get(target, name) {
      if (name === "write") return (data: string) => target.write(data.replace(CLEAR_ALL, CLEAR_SCREEN));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
