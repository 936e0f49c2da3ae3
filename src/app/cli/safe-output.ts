/** The one way to the terminal: whatever a command writes has no control characters when it arrives. */
import { printable } from "../../core/printable.ts";
import type { Output } from "./command.ts";

export const safeOutput = (output: Output): Output => ({
  write: (text) => output.write(printable(text)),
  draw(lines) {
    // The only colours that a command has, around nothing but blocks.
    for (const line of lines) {
      const blocks = line.replaceAll(/[^█▀▄ ]/gu, "");
      output.write(output.isTTY ? `\u001b[97;40m${blocks}\u001b[0m\n` : `${blocks}\n`);
    }
  },
  get isTTY() {
    return output.isTTY;
  },
  get columns() {
    return output.columns;
  },
  get rows() {
    return output.rows;
  },
});
