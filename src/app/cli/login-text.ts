/** A login of a channel that waits for a person, as a terminal shows it: a code to type on the phone, or one to scan. */
import type { ConnectorLogin } from "../gateway/schemas/status.ts";
import type { Output } from "./command.ts";

const QUIET = 2;

export function writeLogin(stdout: Output, { pairingCode, rows }: ConnectorLogin): void {
  const open = "On the phone, open Linked devices, Link a device";
  if (pairingCode !== undefined) stdout.write(`${open}, Link with phone number, and enter ${pairingCode}\n`);
  else if (!rows) stdout.write("It waits for a login.\n");
  else {
    stdout.write(`${open}, and scan this:\n\n`);
    stdout.draw?.(drawn(rows));
    stdout.write("If you do not see all of it, make the window higher, or run `rookery open` and look under Health.\n");
  }
}

/** Two rows in one line. Light is drawn and dark is left out; the quiet zone belongs to the code. */
function drawn(rows: readonly string[]): readonly string[] {
  const width = (rows[0]?.length ?? 0) + 2 * QUIET;
  const light = "0".repeat(width);
  const side = "0".repeat(QUIET);
  const framed = [light, light, ...rows.map((row) => `${side}${row}${side}`), light, light];
  return Array.from({ length: Math.ceil(framed.length / 2) }, (_, n) => {
    const [top = light, bottom = light] = framed.slice(n * 2, n * 2 + 2);
    return [...top].map((on, x) => HALVES[`${on}${bottom[x]}`] ?? " ").join("");
  });
}

const HALVES: Readonly<Record<string, string>> = { "00": "█", "01": "▀", "10": "▄", "11": " " };
