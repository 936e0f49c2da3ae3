/** The chat in other places: over ssh, in tmux, without colours, on the normal screen, and as a guest of an engine elsewhere. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { needs } from "../kit/needs.ts";
import { SSHD } from "../kit/programs.ts";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";
import { holdCalls, times } from "./chat-kit.ts";
import { api, echo, type FakeModel, fakeModel, type Served, serve } from "./serving.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-places-"));
let model: FakeModel;
let served: Served;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model, { more: { queue: { mode: "collect", debounceMs: 0 } } });
});
afterAll(async () => {
  await served.stop();
  await model.close();
  rmSync(root, { recursive: true, force: true });
});
afterEach(() => {
  model.script = echo;
});

const chatArgs = (name: string, ...more: string[]): string[] => [MAIN, "chat", name, "--home", served.home, ...more];

it("has no colours with NO_COLOR", async () => {
  model.script = (call) => {
    call.say("# Head\n\n`code` and **bold**\n\n```js\nreturn 1\n```");
    call.end();
  };
  const terminal = new TestTerminal({ args: chatArgs("plain"), env: { NO_COLOR: "1" } });
  await terminal.until("● idle");
  terminal.say("hi");
  await terminal.until("return 1");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are escape codes.
  expect(terminal.written).not.toMatch(/\u001b\[(?:[0-9;]*;)?(?:3[0-7]|4[0-7]|9[0-7]|38;|48;)[0-9;]*m/u);
  await terminal.close();
});

it("keeps every turn once in the scrollback of the normal screen with --inline, over a change of the size", async () => {
  const shell = join(root, "inline.sh");
  writeFileSync(
    shell,
    `echo before the chat; "${process.execPath}" ${chatArgs("inline", "--inline").join(" ")}; echo after the chat\n`,
  );
  const terminal = new TestTerminal({ file: "sh", args: [shell], rows: 14 });
  await terminal.until("● idle");
  const TURNS = 12;
  for (let n = 1; n <= TURNS; n++) {
    terminal.say(`turn ${n}.`);
    await terminal.until(new RegExp(`echo: turn ${n}\\.[\\s\\S]*● idle`, "u"));
  }
  const all = (): string => {
    const { active } = terminal.terminal.buffer;
    return Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true)).join("\n");
  };
  const counts = (): readonly number[] => Array.from({ length: TURNS }, (_, n) => times(all(), `echo: turn ${n + 1}.`));
  expect(terminal.terminal.buffer.active.type).toBe("normal");
  expect(counts()).toEqual(Array.from({ length: TURNS }, () => 1));
  terminal.resize(60, 24);
  await terminal.until(/ inline ·[^\n]*● idle/u);
  terminal.say("/quit");
  await terminal.exited;
  await terminal.until("after the chat");
  expect(Math.min(...counts())).toBe(1);
  expect(all()).toContain("before the chat");
  await terminal.close();
});

it("works in tmux, also when the window changes", needs("tmux"), async () => {
  const socket = `rookery-${process.pid}`;
  const config = join(root, "tmux.conf");
  writeFileSync(config, "set -g status off\nset -sg escape-time 10\n");
  const command = [process.execPath, ...chatArgs("tmux")].map((part) => `'${part}'`).join(" ");
  const args = ["-u", "-L", socket, "-f", config, "new-session", "-x", "80", "-y", "24", command];
  const terminal = new TestTerminal({ file: "tmux", args, env: { TMUX: undefined, TMUX_TMPDIR: root } });
  try {
    await terminal.until("● idle");
    terminal.say("hello from tmux");
    await terminal.until(/❯ hello from tmux[\s\S]*echo: hello from tmux[\s\S]*● idle/u);
    terminal.resize(50, 16);
    await terminal.until(() => /^ tmux ·.*● idle$/u.test(terminal.screen()[15] ?? ""));
    expect(terminal.text).toContain("echo: hello from tmux");
    terminal.type(`/qu`);
    await terminal.until("→ /queue");
    terminal.type(KEYS.ctrlC);
    terminal.say("/quit");
    await terminal.exited;
  } finally {
    await terminal.close();
  }
});

it("works over ssh: a real sshd, with the environment that it gives", needs("ssh", "sshd"), async () => {
  const key = join(root, "key");
  for (const file of [key, join(root, "host")])
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", file]);
  const port = await freePort();
  const config = join(root, "sshd_config");
  const isRoot = process.getuid?.() === 0;
  writeFileSync(
    config,
    [
      ...[`Port ${port}`, "ListenAddress 127.0.0.1", `HostKey ${join(root, "host")}`, `PidFile ${join(root, "pid")}`],
      ...[`AuthorizedKeysFile ${key}.pub`, "StrictModes no", `UsePAM ${isRoot ? "yes" : "no"}`, "PermitRootLogin yes"],
      ...["PasswordAuthentication no", "KbdInteractiveAuthentication no", "PrintMotd no", "PrintLastLog no", ""],
    ].join("\n"),
  );
  if (isRoot) mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
  const sshd = spawn(SSHD, ["-D", "-e", "-f", config], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  const listening = new Promise<void>((resolve) => {
    sshd.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("Server listening")) resolve();
    });
  });
  await listening;
  const seen = join(root, "environment");
  const chat = [process.execPath, ...chatArgs("far")].map((part) => `'${part}'`).join(" ");
  const options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "IdentitiesOnly=yes"];
  const args = ["-tt", "-F", "none", "-i", key, "-p", String(port), ...options.flatMap((one) => ["-o", one])];
  const terminal = new TestTerminal({
    file: "ssh",
    args: [...args, `${userInfo().username}@127.0.0.1`, `env > '${seen}'; ${chat}`],
    env: { COLORTERM: undefined },
  });
  try {
    await terminal.until("● idle");
    const environment = readFileSync(seen, "utf8");
    expect(environment).toMatch(/^SSH_TTY=\/dev\/pts\/\d+$/mu);
    expect(environment).toMatch(/^TERM=xterm-256color$/mu);
    expect(environment).not.toContain("COLORTERM");
    terminal.say("hello from afar");
    await terminal.until(/❯ hello from afar[\s\S]*echo: hello from afar[\s\S]*● idle/u);
    terminal.resize(40, 12);
    await terminal.until(() => /● idle$/u.test(terminal.screen()[11] ?? ""));
    terminal.paste(Array.from({ length: 40 }, (_, n) => `line ${n}`).join("\n"));
    await terminal.until("[paste #1 +40 lines]");
    terminal.type(KEYS.ctrlC);
    terminal.say("/quit");
    expect(await terminal.exited).toBe(0);
  } catch (error) {
    throw new Error(`${String(error)}\nsshd said:\n${said}`);
  } finally {
    await terminal.close();
    sshd.kill();
    await once(sshd, "exit");
  }
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

describe("a guest of an engine elsewhere", () => {
  let token: string;
  let terminal: TestTerminal;
  const home = join(root, "guest");
  beforeAll(async () => {
    await api(served, "/api/people", { method: "POST", body: { id: "gus", name: "Gus" } });
    const body = { name: "gus", scopes: ["chat"], person: "gus" };
    token = ((await api(served, "/api/tokens", { method: "POST", body })) as { token: string }).token;
    await runCommand(["send", "the owner's secret", "--home", served.home]);
    terminal = new TestTerminal({
      args: [MAIN, "chat", "--url", served.url, "--home", home],
      env: { ROOKERY_TOKEN: token },
    });
    await terminal.until("● idle");
  });
  afterAll(() => terminal.close());

  it("sees the address, and talks in a conversation of the own", async () => {
    expect(terminal.text).toContain(`Address  ${served.url}`);
    terminal.say("hello, I am Gus");
    await terminal.until(/❯ hello, I am Gus[\s\S]*echo: hello, I am Gus[\s\S]*● idle/u);
    terminal.say("/open plans");
    await terminal.until(/ plans ·[^\n]*● idle/u);
    terminal.say("a second one");
    await terminal.until(/echo: a second one[\s\S]*● idle/u);
    expect(terminal.text).not.toContain("I am Gus");
  });

  it("sees no conversation of the owner, by list or by name", async () => {
    terminal.type("\u0014");
    const list = await terminal.until(/plans[\s\S]*type to filter/u);
    expect(list).not.toMatch(/main:main|start|owner/u);
    expect(times(list, "conversation,") + times(list, "  conversation")).toBeLessThanOrEqual(2);
    terminal.type(KEYS.escape);
    await terminal.until((text) => !text.includes("type to filter"));
    terminal.say("/open agent:main:main");
    // Back in the conversation that was open.
    await terminal.until(/There is no agent "agent:main:main"[\s\S]* plans ·[^\n]*● idle/u);
    expect(terminal.text).not.toContain("secret");
    terminal.say("/tree");
    await terminal.until("Only the owner of this engine can do that.");
  });

  it("stops the own run with Escape", async () => {
    const held = holdCalls(model);
    terminal.say("tell me a story");
    (await held.nth(1)).say("Once upon a time");
    await terminal.until(/Once upon a time[\s\S]*esc stops/u);
    terminal.type(KEYS.escape);
    await terminal.until(/── stopped/u);
  });

  it("sees that another conversation of the own has something unread, and nothing of the owner's", async () => {
    await runCommand(["send", "the owner's second secret", "--home", served.home]);
    const sent = ["send", "for later", "--url", served.url, "--home", home];
    expect(await runCommand(sent, { env: { ROOKERY_TOKEN: token } })).toMatchObject({ code: 0 });
    await terminal.until("1 unread");
    terminal.type("\u0014");
    const list = await terminal.until(/● [^\n]*1 unread[\s\S]*type to filter/u);
    expect(times(list, " unread")).toBe(2);
    terminal.type(KEYS.enter);
    await terminal.until(/echo: for later[\s\S]*● idle/u);
    expect(terminal.text).not.toMatch(/unread|secret/u);
  });

  it("sends and asks for the status with the same token", async () => {
    const env = { ROOKERY_TOKEN: token };
    const far = ["--url", served.url, "--home", home];
    expect(await runCommand(["send", "by hand", ...far], { env })).toMatchObject({ code: 0, out: "echo: by hand\n" });
    const status = await runCommand(["status", ...far], { env });
    expect(status).toMatchObject({ code: 0, out: expect.stringMatching(/tokens of yours\nWorking {3}nothing/u) });
    expect(status.out).not.toContain("to deliver");
  });
});
