/** The thread that reads the text of one PDF, page by page, until it has enough. Its parent limits its time and memory. */
import { parentPort, workerData } from "node:worker_threads";
import { getDocumentProxy } from "unpdf";

interface Task {
  readonly data: Uint8Array;
  readonly maxCharacters: number;
  readonly maxPages: number;
}

export interface PdfText {
  readonly text: string;
  readonly pages: number;
  readonly cut: boolean;
}

async function read({ data, maxCharacters, maxPages }: Task): Promise<PdfText> {
  const pdf = await getDocumentProxy(data, { useSystemFonts: false, disableFontFace: true });
  const parts: string[] = [];
  let length = 0;
  let page = 1;
  for (; page <= Math.min(pdf.numPages, maxPages) && length <= maxCharacters; page++) {
    const { items } = await (await pdf.getPage(page)).getTextContent();
    const text = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
    parts.push(text);
    length += text.length + 2;
  }
  const text = parts.join("\n\n").trim();
  const cut = text.length > maxCharacters || page <= pdf.numPages;
  return { text: text.slice(0, maxCharacters), pages: pdf.numPages, cut };
}

parentPort?.postMessage(await read(workerData as Task));
