/** The name of a file from outside, as it is kept: for people to read, never a path. */
import { cutText } from "../../core/cut-text.ts";

const MAX_NAME = 200;

/** The last part of a path, on one line and without control characters. */
export function fileName(given: string | undefined): string {
  const last = (given ?? "").slice(-4_000).split(/[/\\]/).at(-1) ?? "";
  const clean = last
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "")
    .toWellFormed()
    .trim();
  return clean === "" || clean === "." || clean === ".." ? "file" : cutText(clean, MAX_NAME);
}
