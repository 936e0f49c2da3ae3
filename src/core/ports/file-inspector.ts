/** The port that says what a file is and what a model is shown of it. It reads untrusted bytes, so it must be bounded. */

/** `data` absent: the file itself is shown. */
export type ShownContent =
  | { readonly as: "image"; readonly mimeType: string; readonly data?: Uint8Array }
  | {
      readonly as: "text";
      readonly characters: number;
      readonly data?: Uint8Array;
      readonly of?: "pdf" | "transcript";
      readonly cut?: true;
      /** Of a PDF: then it may be shown as a document too. */
      readonly pages?: number;
    }
  /** `why`: what the model reads instead, if more could have been shown. */
  | { readonly as: "reference"; readonly why?: string; readonly pages?: number };

export interface Inspected {
  /** Found from the content. */
  readonly mimeType: string;
  readonly shown: ShownContent;
}

export interface FileInspector {
  /** Must not throw: what cannot be read is a reference. */
  inspect(data: Uint8Array, name: string): Promise<Inspected>;
}
