/** A login of a channel that waits for a person, as a terminal shows it: a code to type on the phone, or one to scan. */
import type { ShownLogin } from "../gateway/api/connector-routes.ts";

const QUIET = 2;

export function loginText({ pairingCode, rows }: ShownLogin): string {
  if (pairingCode !== undefined)
    return `On the phone, open Linked devices, Link a device, Link with phone number, and enter ${pairingCode}`;
  if (!rows) return "It waits for a login.";
  return `On the phone, open Linked devices, Link a device, and scan this:\n\n${drawn(rows)}`;
}

/** Two rows in one line. Light is drawn and dark is left out, which is right on a dark terminal; the quiet zone makes it right on any. */
function drawn(rows: readonly string[]): string {
  const width = (rows[0]?.length ?? 0) + 2 * QUIET;
  const light = "0".repeat(width);
  const side = "0".repeat(QUIET);
  const framed = [light, light, ...rows.map((row) => `${side}${row}${side}`), light, light];
  const lines = Array.from({ length: Math.ceil(framed.length / 2) }, (_, n) => {
    const [top = light, bottom = light] = framed.slice(n * 2, n * 2 + 2);
    return [...top].map((on, x) => HALVES[`${on}${bottom[x]}`] ?? " ").join("");
  });
  // Black on white, whatever the colours of the terminal are.
  return lines.map((line) => `\u001b[97;40m${line}\u001b[0m`).join("\n");
}

const HALVES: Readonly<Record<string, string>> = { "00": "█", "01": "▀", "10": "▄", "11": " " };
