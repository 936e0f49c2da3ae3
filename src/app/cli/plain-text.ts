/** Foreign text in lines and tables: short, without line breaks and control characters. */
import { shortened } from "../../core/cut-text.ts";
import { printable } from "../../core/printable.ts";

export { printable };

export const oneLine = (text: string, max: number): string =>
  shortened(printable(text.replace(/\s+/gu, " ").trim()), max);

export const timeText = (at: number | undefined): string =>
  at === undefined ? "–" : new Date(at).toISOString().replace("T", " ").slice(0, 19);
