/** The one way to the terminal: whatever a command writes has no control characters when it arrives. */
import { printable } from "../../core/printable.ts";
import type { Output } from "./command.ts";

export const safeOutput = (output: Output): Output => ({
  write: (text) => output.write(printable(text)),
  get isTTY() {
    return output.isTTY;
  },
  get columns() {
    return output.columns;
  },
});
