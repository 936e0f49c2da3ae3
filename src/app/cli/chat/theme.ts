/** The colours of the chat. They are the terminal's own sixteen, so that they fit its background. `NO_COLOR` leaves only weight. */
import type { EditorTheme, MarkdownTheme, SelectListTheme } from "@earendil-works/pi-tui";

type Paint = (text: string) => string;

export interface Theme {
  readonly dim: Paint;
  readonly bold: Paint;
  readonly italic: Paint;
  /** The person. */
  readonly person: Paint;
  /** Something that works or went well. */
  readonly good: Paint;
  readonly bad: Paint;
  /** Something that waits for the person. */
  readonly warn: Paint;
  readonly accent: Paint;
  readonly code: Paint;
  readonly keyword: Paint;
  readonly string: Paint;
  readonly number: Paint;
  readonly comment: Paint;
  readonly inverse: Paint;
  readonly hasColor: boolean;
}

const plain: Paint = (text) => text;
const sgr =
  (on: number, off: number): Paint =>
  (text) =>
    text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;

export function themeOf(env: Readonly<Record<string, string | undefined>>): Theme {
  const hasColor = !env.NO_COLOR && env.TERM !== "dumb";
  const color = (on: number): Paint => (hasColor ? sgr(on, 39) : plain);
  return {
    dim: hasColor ? sgr(2, 22) : plain,
    bold: env.FORCE_PLAIN ? plain : sgr(1, 22),
    italic: sgr(3, 23),
    person: color(36),
    good: color(32),
    bad: color(31),
    warn: color(33),
    accent: color(36),
    code: color(33),
    keyword: color(35),
    string: color(32),
    number: color(33),
    comment: hasColor ? sgr(2, 22) : plain,
    inverse: sgr(7, 27),
    hasColor,
  };
}

export const selectTheme = (theme: Theme): SelectListTheme => ({
  selectedPrefix: theme.accent,
  selectedText: theme.hasColor ? theme.accent : theme.bold,
  description: theme.dim,
  scrollInfo: theme.dim,
  noMatch: theme.dim,
});

export const editorTheme = (theme: Theme): EditorTheme => ({
  borderColor: theme.dim,
  selectList: selectTheme(theme),
});

export const markdownTheme = (theme: Theme): MarkdownTheme => ({
  heading: (text) => theme.bold(theme.accent(text)),
  link: theme.accent,
  linkUrl: theme.dim,
  code: theme.code,
  codeBlock: plain,
  codeBlockBorder: theme.dim,
  quote: theme.italic,
  quoteBorder: theme.dim,
  hr: theme.dim,
  listBullet: theme.accent,
  bold: theme.bold,
  italic: theme.italic,
  strikethrough: sgr(9, 29),
  underline: sgr(4, 24),
});
