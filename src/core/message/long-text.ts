/** A text that is too long for a message: it becomes a file of the message, which shows its beginning. Nothing of it is lost (M34). */
import { cutText } from "../cut-text.ts";

export const LONG_TEXT_NAME = "message.txt";
/** What the message shows of it. */
const SHOWN = 1_000;

export const longTextShown = (text: string): string =>
  `${cutText(text, SHOWN)}\n\n[The message has ${text.length} characters. All of it is in ${LONG_TEXT_NAME}.]`;
