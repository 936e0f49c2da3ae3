/** `rookery send`, `status` and `remote`: alone, beside an engine, and over HTTP. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { MAIN, TestTerminal } from "../kit/terminal.ts";
import { type FakeModel, fakeModel, type Served, serve, TOKEN, writeServedConfig } from "./serving.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-send-"));
let model: FakeModel;
let served: Served;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model);
});
afterAll(async () => {
  await served.stop();
  await model.close();
  rmSync(root, { recursive: true, force: true });
});

const beside = (...args: string[]) => runCommand([...args, "--home", served.home], { env: { K: "k" } });

describe("rookery send", () => {
  it("prints the answer of the running engine, whole or while it is written", async () => {
    expect(await beside("send", "good day")).toMatchObject({ code: 0, out: "echo: good day\n" });
    expect(await beside("send", "once more", "--stream")).toMatchObject({ code: 0, out: "echo: once more\n" });
    expect((await beside("send", "/status", "--stream")).out).toContain("Model: local/fake");
  });

  it("returns a receipt that names the message, in the conversation it was sent to", async () => {
    const { out } = await beside("send", "for later", "--receipt", "--to", "work", "--json");
    const { agentId, seq } = JSON.parse(out) as { agentId: string; seq: number };
    expect(seq).toBe(1);
    const { out: inbox } = await beside("agents", "inbox", agentId);
    expect(inbox).toContain("for later");
  });

  it("sends a file", async () => {
    const file = join(root, "note one.txt");
    writeFileSync(file, "remember the milk");
    const { out } = await beside("send", "read it", "--file", file);
    expect(out).toContain("note one.txt");
    expect(await beside("send", "read it", "--file", join(root, "none"))).toMatchObject({ code: 2 });
  });

  it("is the engine if none runs; with a receipt the next one answers", async () => {
    const home = join(root, "alone");
    writeServedConfig(home, model);
    const options = { env: { K: "k" } };
    const receipt = await runCommand(["send", "wait for it", "--receipt", "--home", home], options);
    expect(receipt).toMatchObject({ code: 0, out: expect.stringContaining("Accepted as message 1") });
    expect((await runCommand(["status", "--home", home], options)).out).toContain("not running");
    expect(await runCommand(["send", "and now", "--home", home], options)).toMatchObject({ code: 0 });
    expect(model.calls.some(({ prompt }) => prompt.includes("wait for it"))).toBe(true);
  });
});

describe("an engine elsewhere", () => {
  it("is reached by its address with a token from the environment or a file", async () => {
    const home = join(root, "elsewhere");
    const env = { ROOKERY_TOKEN: TOKEN };
    expect(await runCommand(["send", "far", "--url", served.url, "--home", home], { env })).toMatchObject({
      out: "echo: far\n",
    });
    const file = join(root, "token");
    writeFileSync(file, `${TOKEN}\n`);
    const status = await runCommand(["status", "--url", served.url, "--token-file", file, "--home", home]);
    expect(status.out).toContain("running since");
    expect((await runCommand(["status", "--url", served.url, "--home", home])).err).toContain("A token for");
  });

  it("is saved under a name, with its token for the owner only", async () => {
    const home = served.home;
    const added = await runCommand(["engine", "remotes", "add", "server", served.url, "--home", home], {
      input: `${TOKEN}\n`,
    });
    expect(added.out).toContain("rookery chat --url server");
    expect(statSync(join(home, "remotes.json")).mode & 0o777).toBe(0o600);
    expect((await runCommand(["engine", "remotes", "--home", home])).out).toContain(served.url);
    expect((await runCommand(["send", "by name", "--url", "server", "--home", home])).out).toBe("echo: by name\n");
    const chat = new TestTerminal({ args: [MAIN, "chat", "--url", "server", "--home", home] });
    await chat.until("● idle");
    // The history may have moved it off the screen.
    expect(chat.written).toContain(served.url);
    chat.say("from a chat");
    await chat.until(/echo: from a chat[\s\S]*● idle/u);
    await chat.close();
    await runCommand(["engine", "remotes", "remove", "server", "--home", home]);
    expect(readFileSync(join(home, "remotes.json"), "utf8")).not.toContain(TOKEN);
  });

  it("is refused if the token would travel unencrypted", async () => {
    const { code, err } = await runCommand(["status", "--url", "http://example.org", "--home", root], {
      env: { ROOKERY_TOKEN: TOKEN },
    });
    expect([code, err]).toEqual([2, expect.stringContaining("unencrypted")]);
  });
});
