/** The screen of the chat: the log above, the input below. Draws at most thirty times a second, however fast events come. */
import {
  Container,
  Editor,
  isViewportTUI,
  KeybindingsManager,
  ScrollView,
  setKeybindings,
  type Terminal,
  type TUI,
  TUI_KEYBINDINGS,
  TuiAltScreen,
  VStack,
} from "@earendil-works/pi-tui";
import { ActivityView, type BottomFacts, SPIN_MS, StatusView } from "./bottom-view.ts";
import { InlineScreen } from "./inline-screen.ts";
import { LogView } from "./log-view.ts";
import { BlockRenderer, type RenderSettings } from "./render-block.ts";
import type { StatusFacts } from "./status-line.ts";
import { editorTheme, type Theme } from "./theme.ts";

interface ScreenOptions {
  readonly terminal: Terminal;
  readonly theme: Theme;
  readonly settings: RenderSettings;
  /** The normal screen instead of the alternate one. */
  readonly isInline: boolean;
  readonly facts: () => { readonly bottom: BottomFacts; readonly status: StatusFacts };
  /** Called before each frame. */
  readonly beforeFrame: () => void;
}

const FRAME_MS = 33;

export class ChatScreen {
  readonly tui: TUI;
  readonly log: LogView;
  readonly renderer: BlockRenderer;
  readonly editor: Editor;
  readonly scroll: ScrollView;
  readonly #options: ScreenOptions;
  #frame: NodeJS.Timeout | undefined;
  #spin: NodeJS.Timeout | undefined;
  #drawnAt = 0;

  constructor(options: ScreenOptions) {
    const { terminal, theme, isInline, facts } = options;
    this.#options = options;
    setKeybindings(
      new KeybindingsManager(TUI_KEYBINDINGS, {
        "tui.altScreen.search": ["ctrl+f", "ctrl+shift+f"],
        "tui.altScreen.top": ["ctrl+home"],
        "tui.altScreen.bottom": ["ctrl+end"],
        "tui.editor.cursorRight": ["right"],
        "tui.input.newLine": ["shift+enter", "alt+enter", "ctrl+j"],
      }),
    );
    this.renderer = new BlockRenderer(options.settings);
    this.log = new LogView(this.renderer);
    this.tui = isInline
      ? inlineScreen(terminal, this.log)
      : new TuiAltScreen(terminal, false, undefined, altOptions(theme));
    this.editor = new Editor(this.tui, editorTheme(theme), { paddingX: 1, autocompleteMaxVisible: 6 });
    this.scroll = new ScrollView(this.log, { follow: "end", primary: true, scrollbar: "hidden" });
    const activity = new ActivityView(theme, () => facts().bottom);
    const status = new StatusView(theme, () => facts().status);
    const bottom = new Container();
    for (const part of [activity, this.editor, status]) bottom.addChild(part);
    if (isViewportTUI(this.tui)) {
      this.tui.setLayoutRoot(
        new VStack([
          { component: this.scroll, basis: 0, grow: 1, minSize: 1 },
          { component: bottom, basis: "auto", shrink: 1, minSize: 1 },
        ]),
      );
    } else {
      for (const part of [this.log, bottom]) this.tui.addChild(part);
    }
    this.tui.setFocus(this.editor);
  }

  start(): void {
    this.tui.start();
  }

  stop(): void {
    clearTimeout(this.#frame);
    clearInterval(this.#spin);
    this.tui.stop();
  }

  /** Opens the search of the library. It has no method for it, so its key is pressed. False: the normal screen has none. */
  search(): boolean {
    if (!isViewportTUI(this.tui)) return false;
    (this.tui as unknown as { handleTerminalInput(data: string): void }).handleTerminalInput("\u0006");
    return true;
  }

  /** Draws soon. Keys are drawn at once by the library. */
  draw(): void {
    if (this.#frame) return;
    const wait = Math.max(0, this.#drawnAt + FRAME_MS - performance.now());
    this.#frame = setTimeout(() => {
      this.#frame = undefined;
      this.#drawnAt = performance.now();
      this.#options.beforeFrame();
      this.tui.requestRender();
    }, wait);
  }

  /** While something happens, the time it takes is shown. */
  animate(isOn: boolean): void {
    if (isOn === (this.#spin !== undefined)) return;
    clearInterval(this.#spin);
    this.#spin = isOn ? setInterval(() => this.draw(), SPIN_MS) : undefined;
  }
}

const altOptions = (theme: Theme) => ({
  scrollToEndIndicator: () => theme.inverse(" newer messages below · ctrl+end "),
  searchMatchStyle: theme.warn,
});

function inlineScreen(terminal: Terminal, log: LogView): TUI {
  const screen = new InlineScreen(terminal);
  screen.drops(log);
  return screen;
}
