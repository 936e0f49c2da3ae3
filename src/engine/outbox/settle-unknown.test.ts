import { describe, expect, it } from "vitest";
import type { SendingClass } from "../../core/delivery/delivery.ts";
import { backoffMs } from "./backoff.ts";
import { type LookupAnswer, NO_CHANNEL_WAIT_MS, settleUnknown } from "./settle-unknown.ts";

const channel = (sendingClass: SendingClass, canLookUp = true) => ({ sendingClass, canLookUp });
const answer = (found: LookupAnswer["found"], forMs = 0, times = 0): LookupAnswer => ({
  ...{ found, forMs, times },
  absentAfterMs: 5_000,
});

describe("a send with an unknown outcome", () => {
  const reconcilable = channel("reconcilable");
  for (const [what, of, lookup, decision] of [
    ["to an idempotent channel is retried", channel("idempotent"), undefined, { do: "retry" }],
    ["to an ambiguous channel is unconfirmed", channel("ambiguous"), undefined, { do: "mark-unconfirmed" }],
    [
      "to a channel without lookup is unconfirmed",
      channel("reconcilable", false),
      undefined,
      { do: "mark-unconfirmed" },
    ],
    ["to a channel that is not connected waits", undefined, undefined, { do: "wait", ms: NO_CHANNEL_WAIT_MS }],
    ["to a reconcilable channel is looked up", reconcilable, undefined, { do: "look-up" }],
    ["that has arrived is sent", reconcilable, answer("arrived"), { do: "mark-sent" }],
    ["that is absent too early is looked up again", reconcilable, answer("absent", 2_000), { do: "wait", ms: 3_000 }],
    ["that is absent for long enough is retried", reconcilable, answer("absent", 5_000), { do: "retry" }],
  ] as const) {
    it(what, () => {
      expect(settleUnknown({ id: "d", tooOld: false, channel: of }, lookup)).toEqual(decision);
    });
  }

  it.each(["unknown", undefined] as const)("that the lookup answers with %s waits longer and longer", (found) => {
    const waits = [0, 1, 2, 3].map((times) => {
      const decision = settleUnknown({ id: "d", tooOld: false, channel: reconcilable }, answer(found, 0, times));
      return decision.do === "wait" ? decision.ms : 0;
    });
    expect(waits).toEqual([1, 2, 3, 4].map((tries) => backoffMs("d", tries)));
  });

  it.each([
    ["without a channel", undefined, undefined],
    ["with a lookup that does not know", reconcilable, answer("unknown", 9_000)],
  ] as const)("that is too old is unconfirmed %s", (_, of, lookup) => {
    expect(settleUnknown({ id: "d", tooOld: true, channel: of }, lookup)).toEqual({ do: "mark-unconfirmed" });
  });
});
