/** The output of a command as the model sees it: the beginning and the end, without colours and cursor movements. */
import { type ProcessFiles, readPart, sizeOf } from "./process-files.ts";

/** Bytes of a long output that are shown. The end says more than the beginning. */
const HEAD = 4_000;
const TAIL = 12_000;
export const MAX_SHOWN = HEAD + TAIL;

export interface ShownOutput {
  readonly text: string;
  readonly bytes: number;
  readonly isWhole: boolean;
}

export async function shownOutput({ output }: ProcessFiles, hide: (text: string) => string): Promise<ShownOutput> {
  const bytes = await sizeOf(output);
  if (bytes <= MAX_SHOWN) return { text: readable(await readPart(output, 0, bytes), hide), bytes, isWhole: true };
  const [head, tail] = [await readPart(output, 0, HEAD), await readPart(output, bytes - TAIL, TAIL)];
  const left = `\n[${bytes - MAX_SHOWN} bytes left out]\n`;
  return { text: `${readable(head, hide)}${left}${readable(tail, hide)}`, bytes, isWhole: false };
}

/** Secrets are looked for again afterwards: colours may have stood in the middle of one. */
export const readable = (text: string, hide: (text: string) => string): string => hide(clean(hide(text)));

/** Without sequences of a terminal and other control characters; tabs and line ends stay. */
function clean(text: string): string {
  const [first = "", ...parts] = text.replaceAll("\r\n", "\n").split("\u001b");
  const rest = parts.map((part) => part.replace(/^\[[0-9;?]{0,32}[ -/]{0,4}[@-~]/, ""));
  return [first, ...rest]
    .join("")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .toWellFormed();
}

/** Replaces the values of granted secrets by their names, the longest first: one may be a part of another. */
export const hidesSecrets =
  (secrets: Readonly<Record<string, string>>) =>
  (text: string): string =>
    Object.entries(secrets)
      .filter(([, value]) => value.length >= 4)
      .sort(([, a], [, b]) => b.length - a.length)
      .reduce((shown, [name, value]) => shown.replaceAll(value, () => `[${name}]`), text);
