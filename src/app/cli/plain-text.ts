/** Makes foreign text safe for a terminal: bounded, and without control characters. */

export const printable = (text: string): string => text.replace(/[^\P{C}\n\t]/gu, "�");

export function oneLine(text: string, max: number): string {
  const line = printable(text.replace(/\s+/gu, " ").trim());
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}

export const timeText = (at: number | undefined): string =>
  at === undefined ? "–" : new Date(at).toISOString().replace("T", " ").slice(0, 19);

export function wholeNumberFlag(text: string | undefined, otherwise: number, max: number): number | undefined {
  if (text === undefined) return otherwise;
  const value = Number(text);
  return Number.isInteger(value) && value >= 1 && value <= max ? value : undefined;
}
