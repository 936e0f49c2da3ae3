import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Model } from "../../../core/ports/model.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

/** Answers "silent" with the token for it, and never answers "stall". */
const model: Model = {
  async call({ messages }, signal) {
    const text = JSON.stringify(messages.at(-1));
    if (text.includes("stall")) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    const said = text.includes("silent") ? "NO_REPLY" : "fine";
    return { content: [{ type: "text", text: said }], stopReason: "stop", api: "a", provider: "p", model: "m" };
  },
};

let kit: TestGateway;
beforeEach(async () => {
  kit = await openTestGateway({ model });
});
afterEach(() => kit.close());

const send = async (text: string): Promise<readonly string[]> => {
  const body = { user: "owner", text, line: true };
  const { json } = await kit.ask({ method: "POST", path: "/api/terminal/messages", body });
  const messages = json.messages as readonly { agentId: string; seq: number }[];
  return messages.map(({ agentId, seq }) => `/api/terminal/messages/${agentId}/${seq}?waitSeconds=10`);
};
const replies = async ([path = ""]: readonly string[]) => (await kit.ask({ path })).json;

describe("the replies to a text of the terminal", () => {
  it("are there, and nothing is unanswered", async () => {
    expect(await replies(await send("hi"))).toMatchObject({ replies: [{ text: "fine" }], unanswered: null });
  });

  it("say why there is none: the agent had nothing to say", async () => {
    expect(await replies(await send("silent"))).toMatchObject({
      replies: [],
      unanswered: { reason: expect.stringContaining("suppressed"), failed: false },
    });
  });

  it("say why there is none: a reset aborted the run", async () => {
    const stalled = await send("stall");
    const reset = await send("/new");
    expect(await replies(stalled)).toMatchObject({
      replies: [],
      unanswered: { reason: expect.stringMatching(/^aborted/u), failed: true },
    });
    expect(await replies(reset)).toMatchObject({ settled: true, unanswered: null });
  });
});
