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
  if (bytes <= MAX_SHOWN) return { text: clean(hide(await readPart(output, 0, bytes))), bytes, isWhole: true };
  const [head, tail] = [await readPart(output, 0, HEAD), await readPart(output, bytes - TAIL, TAIL)];
  const left = `\n[${bytes - MAX_SHOWN} bytes left out]\n`;
  return { text: `${clean(hide(head))}${left}${clean(hide(tail))}`, bytes, isWhole: false };
}

/** Without sequences of a terminal and other control characters; tabs and line ends stay. */
export function clean(text: string): string {
  const [first = "", ...parts] = text.replaceAll("\r\n", "\n").split("\u001b");
  const rest = parts.map((part) => part.replace(/^\[[0-9;?]{0,32}[ -/]{0,4}[@-~]/, ""));
  return [first, ...rest]
    .join("")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .toWellFormed();
}

/** Replaces the values of granted secrets by their names. */
export const hidesSecrets =
  (secrets: Readonly<Record<string, string>>) =>
  (text: string): string =>
    Object.entries(secrets).reduce(
      (shown, [name, value]) => (value.length < 4 ? shown : shown.replaceAll(value, `[${name}]`)),
      text,
    );
