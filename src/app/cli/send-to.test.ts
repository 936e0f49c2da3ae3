/** `rookery send --to`: a name reaches the agent that a person made under it; any other name is a conversation. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "../gateway/gateway.test-kit.ts";
import { cliHome, runCommand } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const alone = cliHome();
let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway();
});
afterAll(() => kit.close());

const beside = (...argv: readonly string[]) => runCommand([...argv, "--home", kit.home]);
const CREATE = [
  "agents",
  "add",
  "librarian",
  "--description",
  "looks after books",
  "--prompt",
  "You look after books.",
];

describe.each([
  ["without an engine", (...argv: readonly string[]) => alone.run(...argv)],
  ["beside an engine", beside],
])("%s", (_, run) => {
  const json = async (...argv: readonly string[]) => {
    const { code, out, err } = await run(...argv, "--json");
    expect([code, err]).toEqual([EXIT.ok, ""]);
    return JSON.parse(out);
  };
  const receiver = async (to: string): Promise<string> =>
    (await json("send", "--to", to, "hello", "--receipt")).agentId;

  it("reaches a permanent agent by its name, and by the beginning of its id", async () => {
    const { agentId } = await json(...CREATE);
    expect(await receiver("librarian")).toBe(agentId);
    expect(await receiver(agentId.slice(0, 8))).toBe(agentId);
    expect(await json("agents", "show", "librarian")).toMatchObject({ id: agentId });
    expect((await json("agents", "inbox", "librarian")).items).toHaveLength(2);
    // A name that no agent has is a conversation, always the same one.
    const shopping = await receiver("shopping");
    expect(shopping).not.toBe(agentId);
    expect(await receiver("shopping")).toBe(shopping);
    expect((await json("agents", "show", shopping)).sessionKey).toBe("agent:main:main:thread:shopping");
  });

  it("is what the command that makes an agent says to write", async () => {
    const made = await run("agents", "add", "keeper", "--description", "keeps", "--prompt", "You keep.");
    expect(made.out).toMatch(/^keeper is made\. Write to it: `rookery send --to keeper "hello" --home \S+`\n$/u);
    const named = await run("agents", "add", "Night shift", "--description", "d", "--prompt", "p");
    expect(named.out).toMatch(/--to [a-z0-9]{8} /u);
  });

  it("says what to write if a conversation has the name too, and that no agent has an id", async () => {
    const mine = await receiver("tea");
    await json("agents", "add", "tea", "--description", "makes tea", "--prompt", "You make tea.");
    const both = await run("send", "--to", "tea", "hello", "--receipt", "--json");
    expect([both.code, both.out]).toEqual([EXIT.usage, ""]);
    const { error } = JSON.parse(both.err);
    expect(error).toMatchObject({ code: "invalid_input", hint: "Write the id of the one you mean." });
    expect(error.message).toContain(`tea (${mine})`);
    expect(await receiver("agent:main:main:thread:tea")).toBe(mine);
    const none = await run("send", "--to", "agent:main:permanent:nobody", "hello", "--receipt", "--json");
    expect([none.code, JSON.parse(none.err).error.code]).toEqual([EXIT.failure, "not_found"]);
  });
});
