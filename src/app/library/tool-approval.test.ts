/** Tools that want a person's yes: of `defineTool`, and of the AI SDK with `needsApproval`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { lastText, modelResult } from "../../../test/kit/model.ts";
import type { Model } from "../../core/ports/model.ts";
import { createRookery, type Rookery } from "./create-rookery.ts";
import { defineTool } from "./define-tool.ts";

const input = z.object({ amount: z.number() });
const paid: number[] = [];
const execute = ({ amount }: { amount: number }): string => {
  paid.push(amount);
  return `paid ${amount}`;
};
const about = { name: "pay", description: "Pays an amount", input, execute };

/** Pays what it is told to, and says what came of it. */
const model: Model = {
  async call(request) {
    const amount = Number(/pay (\d+)/.exec(lastText(request))?.[1]);
    const isDone = request.messages.at(-1)?.role === "tool";
    return modelResult(isDone ? lastText(request, "tool") : { call: [{ name: "pay", with: { amount } }] });
  },
};

const homes: string[] = [];
const newHome = (): string => {
  const home = mkdtempSync(join(tmpdir(), "rookery-approval-"));
  homes.push(home);
  return home;
};
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

/** An agent of the owner. */
const clerk = (rookery: Rookery) => rookery.permanent("clerk", { description: "Pays", systemPrompt: "You pay." });

/** The id of the one open question, as soon as it is there. */
async function question(rookery: Rookery): Promise<string> {
  await rookery.settled();
  const { items } = await rookery.approvals.list();
  expect(items).toHaveLength(1);
  return items[0]?.id ?? "";
}

describe("a tool with `approval`", () => {
  let rookery: Rookery;
  beforeAll(async () => {
    const tools = [defineTool({ ...about, approval: ({ amount }) => amount > 10 })];
    rookery = await createRookery({ home: newHome(), model, tools });
  });
  afterAll(() => rookery.close());

  it("runs at once where the function does not want a yes", async () => {
    expect(await (await clerk(rookery)).ask("pay 5")).toBe("paid 5");
    expect(paid.splice(0)).toEqual([5]);
  });

  it("waits for a yes, and then runs once", async () => {
    const receipt = await (await clerk(rookery)).send("pay 50");
    const id = await question(rookery);
    expect(paid).toEqual([]);
    const { prompt, digest } = await rookery.approvals.get(id);
    expect(prompt).toContain("pay asks before each call");
    await rookery.approvals.yes(id, { digest });
    expect((await receipt.result()).text).toBe("paid 50");
    expect(paid.splice(0)).toEqual([50]);
  });

  it("does not run after a no", async () => {
    const receipt = await (await clerk(rookery)).send("pay 60");
    await rookery.approvals.no(await question(rookery));
    expect((await receipt.result()).text).toMatch(/denied|not/i);
    expect(paid).toEqual([]);
  });

  it("waits for a guest's call too, whom a grant that names it allows", async () => {
    await rookery.people.add({ id: "ann", accounts: ["api:ann"] });
    await rookery.people.grant("ann", "*");
    const receipt = await rookery.agent("ann").send("pay 70");
    await rookery.approvals.no(await question(rookery));
    await receipt.result();
    await rookery.people.grant("ann", "pay");
    expect(await rookery.agent("ann").ask("pay 80")).toBe("paid 80");
    expect(paid.splice(0)).toEqual([80]);
  });
});

describe("a question", () => {
  it.each([
    ["of defineTool", [defineTool({ ...about, approval: true })]],
    ["of the AI SDK", { pay: tool({ description: "Pays", inputSchema: input, execute, needsApproval: true }) }],
    [
      "of the AI SDK, by its input",
      {
        pay: tool({
          description: "Pays",
          inputSchema: input,
          execute,
          needsApproval: ({ amount }, { toolCallId }) => amount > 1 && toolCallId !== "",
        }),
      },
    ],
  ])("%s survives a restart", async (_, tools) => {
    const home = newHome();
    const first = await createRookery({ home, model, tools });
    await (await clerk(first)).send("pay 90", { id: "p" });
    const id = await question(first);
    await first.close();
    await using second = await createRookery({ home, model, tools });
    expect(paid).toEqual([]);
    await second.approvals.yes(id, await second.approvals.get(id).then(({ digest }) => ({ digest })));
    const again = await second.permanent("clerk").send("pay 90", { id: "p" });
    expect((await again.result()).text).toBe("paid 90");
    expect(paid.splice(0)).toEqual([90]);
  });

  it("is asked if the function fails", async () => {
    const approval = () => Promise.reject(new TypeError("broken"));
    await using rookery = await createRookery({ home: "memory", model, tools: [defineTool({ ...about, approval })] });
    await (await clerk(rookery)).send("pay 1");
    await question(rookery);
    expect(paid).toEqual([]);
  });
});
