/** What an agent may not send is kept and ends at once; what has ended keeps its reason. */
import { describe, expect, it, test } from "vitest";
import { SEND_BLOCKED, type SendPolicy } from "../../core/agent/send-policy.ts";
import type { NewDelivery } from "../../core/delivery/delivery.ts";
import type { ToolOutput } from "../../core/ports/tool.ts";
import type { Op } from "../../core/store/change.ts";
import { applySendPolicy, applySendPolicyToOps, maySend, tellIfBlocked } from "./apply-send-policy.ts";

const policy: SendPolicy = {
  rules: [
    { action: "deny", match: { channel: "loud" } },
    { action: "deny", match: { keyPrefix: "quiet:" } },
  ],
};
const agent = (sendPolicy?: "allow" | "deny", sessionKey = "agent:main:main") =>
  ({ state: { sendPolicy }, sessionKey }) as never;
const to = (channel: string, more: object = {}): NewDelivery =>
  ({ id: channel, target: { channel, to: "1" }, payload: { text: "hi" }, ...more }) as never;
const blocked = { ended: { state: "suppressed", reason: SEND_BLOCKED } };

test.each<[string, SendPolicy | undefined, never, string, boolean]>([
  ["without a policy", undefined, agent(), "loud", true],
  ["on a channel that no rule names", policy, agent(), "calm", true],
  ["on a channel that a rule denies", policy, agent(), "loud", false],
  ["in a conversation that a rule denies", policy, agent(undefined, "agent:main:quiet:1"), "calm", false],
  ["by its own setting, against a rule", policy, agent("allow"), "loud", true],
  ["by its own setting, without a rule", undefined, agent("deny"), "calm", false],
])("an agent may send %s", (_title, given, sender, channel, may) => {
  expect(maySend(given, sender, { channel, to: "1" })).toBe(may);
});

describe("deliveries", () => {
  const own = { ended: { state: "suppressed", reason: "empty answer" } };
  const given = [to("calm"), to("loud"), to("loud", own)];
  const applied = [to("calm"), to("loud", blocked), to("loud", own)];

  it("that are denied end at once, and those that have ended keep their reason", () => {
    expect(applySendPolicy(policy, agent(), given)).toEqual(applied);
  });

  it("among other ops are treated the same, and the other ops are left alone", () => {
    const fact: Op = { op: "fact.put", key: "k", value: "v" };
    const add = (delivery: NewDelivery): Op => ({ op: "delivery.add", delivery });
    expect(applySendPolicyToOps(policy, agent(), [fact, ...given.map(add)])).toEqual([fact, ...applied.map(add)]);
  });
});

test.each<[string, readonly string[] | undefined, boolean]>([
  ["sends nothing", undefined, false],
  ["sends where it may", ["calm"], false],
  ["sends where it may not", ["calm", "loud"], true],
])("the result of a tool that %s", (_title, channels, isBlocked) => {
  const output: ToolOutput = {
    content: [{ type: "text", text: "sent" }],
    found: ["x"],
    deliveries: channels?.map((one) => to(one)),
  };
  const told = tellIfBlocked(policy, agent(), output);
  const refused = { ...output, content: [{ type: "text", text: SEND_BLOCKED }], isError: true };
  expect(told).toEqual(isBlocked ? refused : output);
});
