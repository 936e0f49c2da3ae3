/**
 * The output of a command as the model sees it: the beginning and the end, without colours and cursor movements, with the
 * names of secrets in place of their values. A cut never shows a part of a value.
 */
import { longestSecret, type SecretValues, type Span, secretSpans } from "./output-secrets.ts";
import { type ProcessFiles, readPart, sizeOf } from "./process-files.ts";

/** Bytes of a long output that are shown. The end says more than the beginning. */
const HEAD = 4_000;
const TAIL = 12_000;
export const MAX_SHOWN = HEAD + TAIL;

/** Bytes beside a part that are read to find a secret that is cut; a value may have colours in it. */
const MORE = 1_000;
const MAX_BESIDE = 100_000;

interface ShownOutput {
  readonly text: string;
  readonly bytes: number;
  readonly isWhole: boolean;
}

export async function shownOutput({ output }: ProcessFiles, secrets: SecretValues): Promise<ShownOutput> {
  const bytes = await sizeOf(output);
  if (bytes <= MAX_SHOWN) {
    return { text: await shownPart(output, { begin: 0, end: bytes }, secrets), bytes, isWhole: true };
  }
  const head = await shownPart(output, { begin: 0, end: HEAD }, secrets);
  const tail = await shownPart(output, { begin: bytes - TAIL, end: bytes }, secrets);
  return { text: `${head}\n[${bytes - MAX_SHOWN} bytes left out]\n${tail}`, bytes, isWhole: false };
}

/** A part of a file, named by its bytes. */
export async function shownPart(path: string, { begin, end }: Span, secrets: SecretValues): Promise<string> {
  const longest = longestSecret(secrets);
  const beside = longest === 0 ? 0 : Math.min(2 * longest + MORE, MAX_BESIDE);
  const from = Math.max(0, begin - beside);
  const length = end + beside - from;
  const bytes = await readPart(path, from, length);
  return readable(bytes, { begin: begin - from, end: end - from, isEnd: bytes.length < length }, secrets);
}

/** Sequences of a terminal and other control characters, as bytes; tabs and line ends stay. */
const UNSHOWN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\u001b\[[0-9;?]{0,32}[ -/]{0,4}[@-~]|[\u0000-\u0008\u000b-\u001f\u007f]|\u00c2[\u0080-\u009f]/g;

/** A part of these bytes as a text. Half a character at the edges becomes a replacement character. */
function readable(bytes: Buffer, part: Span & { readonly isEnd: boolean }, secrets: SecretValues): string {
  const raw = bytes.toString("latin1");
  let text = "";
  let shown = part.begin;
  const show = (end: number): void => {
    const piece = raw.slice(shown, Math.max(shown, end)).replace(UNSHOWN, "");
    text += Buffer.from(piece, "latin1").toString("utf8");
  };
  for (const { begin, end, name } of secretSpans(raw, UNSHOWN, part.isEnd, secrets)) {
    if (end <= shown || begin >= part.end) continue;
    // One that begins inside another is hidden with it.
    if (begin >= shown || text === "") {
      show(begin);
      text += `[${name}]`;
    }
    shown = end;
  }
  show(part.end);
  return text;
}
