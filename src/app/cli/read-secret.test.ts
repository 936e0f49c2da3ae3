import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { readSecret } from "./read-secret.ts";

describe("a secret that is typed", () => {
  it("is hidden before the question is seen, and the terminal is as before afterwards", async () => {
    const steps: string[] = [];
    const input = Object.assign(new PassThrough(), {
      isTTY: true,
      setRawMode: (raw: boolean) => steps.push(raw ? "hidden" : "shown"),
    });
    const output = { write: (text: string) => steps.push(text) > 0 };
    // Someone who pastes as soon as the question stands there.
    input.write("a ke\u007f token\r");
    expect(await readSecret(input as never, output as never, "Token: ")).toBe("a k token");
    expect(steps).toEqual(["hidden", "Token: ", "shown", "\n"]);
  });
});
