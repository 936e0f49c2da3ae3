/** Questions in a real process, as a person sees and answers them: at the terminal, on the page and with `rookery approvals`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import type { Approval } from "../../src/core/rights/approval.ts";
import { HIDDEN, HOSTILE_CALLS, type HostileCall } from "../hostile/hostile-calls.ts";
import { needs } from "../kit/needs.ts";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";
import { type Opened, openBrowser, signIn, startBrowser } from "../web/browser.ts";
import { callTool, isAfterTool } from "./chat-kit.ts";
import { api, type FakeModel, fakeModel, type Served, serve } from "./serving.ts";

let model: FakeModel;
let served: Served;

/** "run: COMMAND" makes the model run it, and "call N" makes it do the hostile call N. */
beforeAll(async () => {
  model = await fakeModel();
  model.script = (call) => {
    const [, command, n] = /(?:run: (.*)|call (\d+))/u.exec(call.prompt) ?? [];
    if (isAfterTool(call) || (command === undefined && n === undefined)) {
      call.say("That is over.");
      call.end();
    } else callTool(call, "exec", command === undefined ? (HOSTILE_CALLS[Number(n)]?.with ?? {}) : { command });
  };
  served = await serve(model, {
    more: { queue: { mode: "collect", debounceMs: 0 }, permissions: { ask: ["exec"] } },
  });
});
afterAll(async () => {
  await served.stop();
  await model.close();
});

const approvals = async (state: string): Promise<readonly Approval[]> =>
  ((await api(served, `/api/approvals?state=${state}&limit=500`)) as { items: readonly Approval[] }).items;
const pending = () => approvals("pending");
async function refuseAll(): Promise<void> {
  for (const { id } of await pending())
    await api(served, `/api/approvals/${id}`, { method: "POST", body: { answer: "no" } });
}

let count = 0;

/** A new conversation. */
async function openChat(...flags: string[]): Promise<TestTerminal> {
  count += 1;
  const args = [MAIN, "chat", `talk${count}`, "--home", served.home, ...flags];
  const chat = new TestTerminal({ args, rows: 40 });
  await chat.until("● idle");
  return chat;
}

/** Sends a message to another agent. */
async function tellOther(text: string): Promise<void> {
  count += 1;
  const name = `agent:main:api:dm:other${count}`;
  await api(served, "/api/agents", { method: "POST", body: { name: `other${count}` } });
  await api(served, `/api/agents/${encodeURIComponent(name)}/messages`, { method: "POST", body: { text } });
}

describe("a letter does not answer", () => {
  afterEach(refuseAll);

  it.each([
    ["chat", []],
    ["chat --inline", ["--inline"]],
  ])("to a question of this agent, in %s", async (_, flags) => {
    const chat = await openChat(...flags);
    try {
      chat.say("run: git push --force");
      await chat.until(/command: git push --force[\s\S]*yes, this once/u);
      for (const letter of "yesterday a n") {
        chat.type(letter);
        // The next key comes when this one is on the screen, as a person types.
        await chat.until("Send or clear what you typed to answer.");
      }
      chat.type(`was fine${KEYS.enter}`);
      await chat.until((now) => now.includes("yesterday a nwas fine") && now.includes("yes, this once"));
      expect((await pending()).map(({ state }) => state)).toEqual(["pending"]);
      expect(await approvals("all")).not.toContainEqual(expect.objectContaining({ state: "approved" }));
    } finally {
      await chat.close();
    }
  });

  it("to a question of another agent, which is only counted", async () => {
    const chat = await openChat("--inline");
    try {
      await tellOther("run: git push --force");
      await chat.until("1 to /approve");
      chat.type(`${KEYS.up}${KEYS.enter}y${KEYS.enter}`);
      await chat.until("That is over.");
      expect(chat.text).not.toContain("asks for a yes");
      expect((await pending()).map(({ state }) => state)).toEqual(["pending"]);
    } finally {
      await chat.close();
    }
  });
});

const squeezed = (text: string): string => text.replaceAll(/[\s│]/gu, "");
/** Where there is space, long texts are whole; where Markdown means nothing, so are its signs. */
function beginOf({ shows, with: given }: HostileCall): string {
  const shown = (shows ?? String(given.command)).replaceAll("<U+0060>", "`");
  return `exec\n  command:${shown.startsWith("\n") ? "" : " "}${shown}`;
}

let browser: Browser | undefined;
let opened: Opened | undefined;
afterAll(() => browser?.close());

/** A question on the owner's page, on a phone. */
async function openQuestion(id: string): Promise<{ readonly row: Locator; readonly problems: readonly string[] }> {
  browser ??= await startBrowser();
  if (opened === undefined) {
    opened = await openBrowser(browser, served, { width: 390, height: 844 });
    await signIn(opened, served);
  }
  const { page, problems } = opened;
  await page.goto(`${served.url}/#/approvals/${id}`);
  const row = page.locator("li", { has: page.locator(`[href$="approvals/${id}"]`) });
  await row.locator(".question").waitFor();
  return { row, problems };
}

describe("a long question on the page", needs("chromium"), () => {
  afterEach(refuseAll);

  /** The browser has drawn the page and told it what is on the screen. */
  const isDrawn = (row: Locator): Promise<void> =>
    row.evaluate(async (one) => {
      for (let frames = 0; frames < 3; frames++)
        await new Promise((resolve) => one.ownerDocument.defaultView?.requestAnimationFrame(resolve));
    });

  it("offers no yes until its end was on the screen", async () => {
    await tellOther(`run: echo ${"word ".repeat(1_200)} && git push --force`);
    await expect.poll(pending, { timeout: 30_000 }).toHaveLength(1);
    const [{ id } = { id: "" }] = await pending();
    const { row } = await openQuestion(id);
    await isDrawn(row);
    const button = (name: string): Locator => row.getByRole("button", { name, exact: true });
    const offered = () => Promise.all(["Yes, once", "Always…", "No"].map((name) => button(name).isEnabled()));
    expect(await offered()).toEqual([false, false, true]);
    await button("No").scrollIntoViewIfNeeded();
    await expect.poll(offered).toEqual([true, true, true]);
    await button("Yes, once").click();
    await expect.poll(pending).toEqual([]);
    await expect.poll(() => approvals("used")).toContainEqual(expect.objectContaining({ id }));
  });

  it("is not asked beyond 20,000 characters, and the call is not executed", async () => {
    await tellOther(`run: touch ran; echo ${"word ".repeat(4_000)}`);
    const results = () => JSON.stringify(model.calls.map(({ body }) => body.messages.at(-1)));
    await expect.poll(results, { timeout: 30_000 }).toContain("Not executed: the question about this call would have");
    expect(await pending()).toEqual([]);
    expect(existsSync(join(served.home, "workspace", "ran"))).toBe(false);
  });
});

describe("a hostile call is shown as it is", () => {
  let chat: TestTerminal;
  beforeAll(async () => {
    chat = await openChat();
  });
  afterAll(() => chat.close());

  const asked = async (n: number): Promise<Approval> => {
    count += 1;
    chat.say(`/open talk${count}`);
    await chat.until(new RegExp(` talk${count} ·[^\\n]*● idle`, "u"));
    chat.say(`call ${n}`);
    await chat.until("asks for a yes");
    const [approval] = await pending();
    if (approval === undefined) throw new Error(chat.text);
    return approval;
  };
  // Each is asked about once, and looked at wherever it is shown.
  describe.each(HOSTILE_CALLS.map((call, n) => ({ ...call, n })))("$title", (call) => {
    let approval: Approval;
    beforeAll(async () => {
      approval = await asked(call.n);
    });
    afterAll(refuseAll);

    it("at the terminal and with rookery approvals", async () => {
      const { id, prompt } = approval;
      const { out } = await runCommand(["approvals", "show", id, "--home", served.home]);
      expect(out).not.toMatch(HIDDEN);
      expect(out).toContain(`\n${beginOf(call)}`);
      const screen = await chat.until((now) => /yes, this once|Too long for this window/u.test(now));
      expect(screen.replaceAll(/^[^│].*$/gmu, "")).not.toMatch(HIDDEN);
      if (screen.includes("yes, this once")) expect(squeezed(screen)).toContain(squeezed(prompt));
    });

    it("on the page", needs("chromium"), async () => {
      const { row, problems } = await openQuestion(approval.id);
      const question = row.locator(".question");
      const text = (await question.textContent()) ?? "";
      expect(text).not.toMatch(HIDDEN);
      expect(text.startsWith(beginOf(call)), text).toBe(true);
      // The whole text is visible.
      expect(
        await question.evaluate((one) => [one.scrollWidth > one.clientWidth, one.scrollHeight > one.clientHeight]),
      ).toEqual([false, false]);
      expect(problems).toEqual([]);
    });
  });
});
