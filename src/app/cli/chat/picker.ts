/** A list above the input to choose from. Letters filter it. */
import { type Component, matchesKey, type SelectItem, SelectList, truncateToWidth } from "@earendil-works/pi-tui";
import { boxed } from "./boxed.ts";
import { selectTheme, type Theme } from "./theme.ts";

/** Where panels stand: above the input. */
export const PANEL_PLACE = { anchor: "bottom-center", width: "100%", maxHeight: "80%", offsetY: -4 } as const;

interface PickerOptions {
  readonly title: string;
  readonly items: readonly SelectItem[];
  readonly empty: string;
  readonly rows: number;
  readonly theme: Theme;
  /** Undefined: the person chose nothing. */
  readonly onPick: (value: string | undefined) => void;
}

export class Picker implements Component {
  readonly #options: PickerOptions;
  #list: SelectList;
  #filter = "";

  constructor(options: PickerOptions) {
    this.#options = options;
    this.#list = this.#listOf(options.items);
  }

  #listOf(items: readonly SelectItem[]): SelectList {
    const { theme, rows, onPick } = this.#options;
    const list = new SelectList([...items], Math.max(2, rows), selectTheme(theme), { maxPrimaryColumnWidth: 48 });
    list.onSelect = ({ value }) => onPick(value);
    list.onCancel = () => onPick(undefined);
    return list;
  }

  render(width: number): string[] {
    const { theme, items, empty, title } = this.#options;
    const inner = Math.max(10, width - 4);
    const hint = this.#filter === "" ? "type to filter · enter opens · esc closes" : `filter: ${this.#filter}`;
    const lines = items.length === 0 ? [theme.dim(empty)] : this.#list.render(inner);
    return boxed([...lines, theme.dim(truncateToWidth(hint, inner, ""))], width, theme.dim, title);
  }

  handleInput(data: string): void {
    if (matchesKey(data, "backspace")) this.#narrow(this.#filter.slice(0, -1));
    else if (data.length === 1 && data >= " " && data !== "\u007f") this.#narrow(this.#filter + data);
    else this.#list.handleInput(data);
  }

  #narrow(filter: string): void {
    this.#filter = filter;
    const wanted = filter.toLowerCase();
    const items = this.#options.items.filter(({ label, description = "" }) =>
      `${label} ${description}`.toLowerCase().includes(wanted),
    );
    this.#list = this.#listOf(items);
  }

  invalidate(): void {}
}
