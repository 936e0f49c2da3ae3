/** With all proofs: a mutation that the audit of `npm run crash -- --channel telegram` must find. */
import { expect, test } from "vitest";
import { ALL } from "../kit/share.ts";
import { crashTelegram } from "./telegram/target.ts";

test.runIf(ALL)(
  "the audit of Telegram finds a send that is repeated although nobody knows whether it was shown",
  async () => {
    const { problems } = await crashTelegram({ kills: 1, seed: "vitest", mutation: "send-again", say: () => {} });
    expect(problems.join("\n")).toMatch(/was answered \d times/u);
  },
);
