/** Markdown as a tree, as channels need it: what models write in chats, nothing more. Unknown signs are plain text. */

export type Inline =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "code"; readonly text: string }
  | { readonly type: "bold" | "italic" | "strike" | "spoiler"; readonly children: readonly Inline[] }
  | { readonly type: "link"; readonly href: string; readonly children: readonly Inline[] };

export interface ListItem {
  readonly content: readonly Inline[];
  /** Of a task list. */
  readonly done?: boolean;
  /** How deep it is nested, from 0. */
  readonly depth: number;
  /** The number of an item of an ordered list. */
  readonly number?: number;
}

export type Align = "left" | "center" | "right";

/** `gap`: an empty line stands before it. */
export type Block = { readonly gap: boolean } & (
  | { readonly type: "paragraph"; readonly content: readonly Inline[] }
  | { readonly type: "heading"; readonly level: number; readonly content: readonly Inline[] }
  | { readonly type: "code"; readonly language: string; readonly text: string }
  | { readonly type: "list"; readonly items: readonly ListItem[] }
  | { readonly type: "quote"; readonly lines: readonly (readonly Inline[])[] }
  | {
      readonly type: "table";
      readonly align: readonly (Align | undefined)[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
      /** As it was written. */
      readonly source: string;
    }
  | { readonly type: "rule" }
);
