/** A login in a terminal: what is drawn, and that nothing but blocks is drawn. */
import { describe, expect, it } from "vitest";
import { writeLogin } from "./login-text.ts";
import { safeOutput } from "./safe-output.ts";

function shown(isTTY: boolean, use: (output: ReturnType<typeof safeOutput>) => void): string {
  let text = "";
  use(
    safeOutput({
      isTTY,
      write: (more) => {
        text += more;
      },
    }),
  );
  return text;
}

describe("a login", () => {
  it("with a code to scan is drawn white on black, two rows in a line, with light around it", () => {
    const text = shown(true, (output) => writeLogin(output, { rows: ["10", "01"] }));
    expect(text.split("\n").slice(2, 5)).toEqual([
      "\u001b[97;40m██████\u001b[0m",
      "\u001b[97;40m██▄▀██\u001b[0m",
      "\u001b[97;40m██████\u001b[0m",
    ]);
  });

  it("has no colours where no one sees them", () => {
    expect(shown(false, (output) => writeLogin(output, { rows: ["10", "01"] }))).not.toContain("\u001b");
  });

  it("with a code to type says it, with nothing that a terminal would obey", () => {
    const text = shown(true, (output) => writeLogin(output, { pairingCode: "AB\u001b[2JCD" }));
    expect(text).toContain("and enter AB");
    expect(text).not.toContain("\u001b");
  });

  it("draws nothing but blocks", () => {
    expect(shown(true, (output) => output.draw?.(["█\u001b[2J▀x ▄"]))).toBe("\u001b[97;40m█▀ ▄\u001b[0m\n");
  });
});
