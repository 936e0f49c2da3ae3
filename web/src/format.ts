/** Numbers, times and sizes as people read them. */
import { signal } from "@preact/signals";
import { t } from "./texts.ts";

/** The time of the relative times on the screen. It moves while the tab is visible. */
export const now = signal(Date.now());
const TICK_MS = 5_000;
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, TICK_MS);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });

/** “2 min ago”. A past event is never in the future, though the clock of the server may be ahead of this one. */
export const pastTime = (at: number, from: number = now.value): string => relativeTime(Math.min(at, from), from);

/** “2 min ago”, “in 3 hr”. */
export function relativeTime(at: number, from: number = now.value): string {
  const ms = at - from;
  const size = Math.abs(ms);
  if (size < 10_000) return ms > 1_000 ? t.time.soon : t.time.justNow;
  if (size < MINUTE) return relative.format(Math.round(ms / 1_000), "second");
  if (size < HOUR) return relative.format(Math.round(ms / MINUTE), "minute");
  if (size < DAY) return relative.format(Math.round(ms / HOUR), "hour");
  if (size < 30 * DAY) return relative.format(Math.round(ms / DAY), "day");
  return new Date(at).toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric" });
}

export const fullTime = (at: number): string =>
  new Date(at).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });

export const clockTime = (at: number): string =>
  new Date(at).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

/** Rounds to the smaller unit before it splits, so that no part reaches the next unit. */
export function duration(given: number): string {
  const ms = Math.max(0, Math.round(given));
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(ms / HOUR);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (n: number): string => (Math.abs(n) < 10_000 ? whole.format(n) : compact.format(n));

export function money(dollars: number): string {
  if (dollars === 0) return "$0";
  return dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

export function bytes(n: number): string {
  if (n < 1_000) return `${n} B`;
  if (n < 999_500) return `${(n / 1_000).toFixed(0)} KB`;
  return n < 999_950_000 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(1)} GB`;
}

/** Removes escape codes and other control characters. */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
  return text.replace(/\u001b\[[0-9;?]{0,32}[A-Za-z]/g, "").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

/** The first line, for lists. */
export function oneLine(text: string, most = 160): string {
  const line = plainText(text.slice(0, most * 4))
    .replace(/\s+/g, " ")
    .trim();
  // Not between the two halves of a character.
  return line.length > most ? `${line.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : line;
}
