/**
 * The chat in a real terminal, beside a real engine whose model the test controls. All tests use one terminal, each in a
 * conversation of its own, also over the death of the engine.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";
import { callTool, holdCalls, isAfterTool, think, times } from "./chat-kit.ts";
import { api, echo, type FakeModel, fakeModel, type Served, serve } from "./serving.ts";

let model: FakeModel;
let served: Served;
let chat: TestTerminal;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model, { more: { queue: { mode: "collect", debounceMs: 0 } } });
  chat = new TestTerminal({ args: [MAIN, "chat", "start", "--home", served.home], env: { K: "k" } });
  await chat.until("● idle");
});
afterAll(async () => {
  await chat.close();
  await served.stop();
  await model.close();
});

let count = 0;
afterEach(() => {
  model.script = echo;
});

/** A new conversation on the same screen. */
async function begin(): Promise<void> {
  count += 1;
  chat.say(`/open talk${count}`);
  await chat.until(new RegExp(`Try[\\s\\S]* talk${count} ·[^\\n]*● idle`, "u"));
}

/** Says something and waits for the answer. */
async function ask(text: string, answer: string | RegExp): Promise<string> {
  chat.say(text);
  await chat.until(answer);
  return chat.until("● idle");
}

describe("a conversation in the terminal", () => {
  it("shows an answer while it is written, as markdown, and what runs below it", async () => {
    const held = holdCalls(model);
    await begin();
    chat.say("hello");
    const call = await held.nth(1);
    call.say("# Title\n\nSome **bold** text\n\n```ts\nconst a = 1;\n```\n\n- one\n- two\n\nand the en");
    const text = await chat.until("and the en");
    expect(text).toContain("❯ hello");
    expect(text).toContain("writing");
    expect(text).toContain("    const a = 1;");
    expect(text).not.toContain("**bold**");
    call.say("d.");
    call.end();
    await chat.until(/and the end\.[\s\S]*● idle/u);
    expect(times(chat.text, "and the end")).toBe(1);
  });

  it("takes a message during a run, says where it went, and answers it once", async () => {
    const held = holdCalls(model);
    await begin();
    chat.say("first");
    const call = await held.nth(1);
    call.say("working");
    await chat.until("working");
    chat.say("second");
    await chat.until(/❯ second\n\s+↳ waits for the run, then joins one prompt/u);
    expect(chat.text).toContain("1 waiting");
    call.end();
    const next = await held.nth(2);
    expect(next.prompt).toContain("second");
    next.say("both done");
    next.end();
    const text = await chat.until(/both done[\s\S]*● idle/u);
    expect([times(text, "❯ second"), times(text, "↳")]).toEqual([1, 0]);
  });

  it("steers a run: the message enters it at its next step", async () => {
    const held = holdCalls(model);
    await begin();
    await ask("/queue steer", "⚙");
    await chat.until(/· steer/u);
    chat.say("look around");
    const call = await held.nth(1);
    await chat.until("thinking");
    chat.say("and be quick");
    await chat.until(/❯ and be quick\n\s+↳ enters the run at its next step/u);
    callTool(call, "current_time", {});
    const next = await held.nth(2);
    expect(next.body.messages.map(({ role }) => role).slice(-2)).toEqual(["tool", "user"]);
    expect(next.prompt).toContain("and be quick");
    next.say("quickly done");
    next.end();
    // Each once, and no longer as waiting: the history may come a moment after the answer.
    await chat.until(
      (text) =>
        /✓ current_time [\d.]+ m?s[\s\S]*quickly done[\s\S]*● idle/u.test(text) &&
        times(text, "❯ and be quick") === 1 &&
        times(text, "↳") === 0,
    );
  });

  it("shows thoughts if they are on, while they come and afterwards, and hides them if they are off", async () => {
    const held = holdCalls(model);
    await begin();
    await ask("/reasoning on", "⚙");
    chat.say("a riddle");
    const call = await held.nth(1);
    think(call, "Perhaps it is a mirror");
    await chat.until("Perhaps it is a mirror");
    call.say("A mirror.");
    call.end();
    await chat.until(/Perhaps it is a mirror[\s\S]*A mirror\.[\s\S]*● idle/u);
    await ask("/reasoning off", /⚙[\s\S]*⚙/u);
    await chat.until((text) => !text.includes("Perhaps") && text.includes("A mirror."));
  });

  it("stops a run with Escape and keeps what it said", async () => {
    const held = holdCalls(model);
    await begin();
    chat.say("long story");
    (await held.nth(1)).say("Once upon a time");
    await chat.until(/Once upon a time[\s\S]*esc stops/u);
    chat.type(KEYS.escape);
    const text = await chat.until(/── stopped/u);
    expect(text).toContain("Once upon a time");
    expect(text).toContain("(cut off here)");
  });

  it("loses nothing and shows nothing twice when the engine is killed under it and returns", async () => {
    const held = holdCalls(model);
    await begin();
    chat.say("question one");
    (await held.nth(1)).say("half an ans");
    await chat.until("half an ans");
    served.process.kill("SIGKILL");
    await chat.until("○ engine away");
    chat.say("question two");
    await chat.until("is sent when the engine is back");
    model.script = (call) => {
      call.say(call.prompt.includes("two") ? "answer two" : "answer one");
      call.end();
    };
    served = await served.crash();
    const text = await chat.until((now) => now.includes("answer two") && now.includes("● idle"));
    const counts = ["❯ question one", "❯ question two", "answer one", "answer two", "half an ans"];
    expect(
      counts.map((one) => times(text, one)),
      text,
    ).toEqual([1, 1, 1, 1, 0]);
    const prompts = model.calls.filter(({ prompt }) => prompt.includes("question two"));
    expect(prompts).toHaveLength(1);
  });
});

describe("the screen", () => {
  /** Clears, moves, retitles, leaves the screen, turns the writing around, and asks for an answer. */
  const HOSTILE =
    "safe\u001b[2J\u001b[H\u001b]0;owned\u0007\u001b[31mred\u009b31m\u001b[?1049l\u001b[6n\u202egnp \u0000end";

  it("is not changed by escape codes in an answer, a tool's result, arguments, a question or what a person typed", async () => {
    writeFileSync(join(served.home, "workspace", "evil.txt"), HOSTILE);
    const titles: string[] = [];
    const listening = chat.terminal.onTitleChange((title) => titles.push(title));
    await begin();
    await ask("/verbose full", "⚙");
    model.script = (call) => {
      if (isAfterTool(call)) {
        call.say(HOSTILE);
        call.end();
      } else callTool(call, "read", { path: "evil.txt", "x\u001b[2J": HOSTILE });
    };
    chat.paste(`typed\u001b[2J\u001b]0;owned\u0007 text`);
    chat.type(KEYS.enter);
    await chat.until(/read[\s\S]*safered[\s\S]*● idle/u);
    expect(chat.text).toMatch(/safered.*end/u);
    expect(titles).not.toContain("owned");
    expect(chat.terminal.buffer.active.type).toBe("alternate");
    expect(chat.text).not.toMatch(/\u202e/u);
    expect(chat.text).toMatch(/ talk\d+ ·/u);
    listening.dispose();
  });

  it.each([
    [40, 12],
    [80, 24],
  ])("fits %s columns and %s rows, with wide and combining characters, typed and answered", async (cols, rows) => {
    model.script = (call) => {
      call.say(
        "漢字かな交じり文 👩‍👩‍👧‍👦 e\u0301e\u0301 ｆｕｌｌ und Donaudampfschifffahrtsgesellschaftskapitän fertig",
      );
      call.end();
    };
    await begin();
    chat.resize(cols, rows);
    await chat.until(() => chat.screen().at(-1)?.includes("idle") === true);
    chat.type("wide 漢字 e\u0301");
    await chat.until("wide 漢字 e\u0301");
    chat.type(KEYS.enter);
    const text = await chat.until(/fertig[\s\S]*idle/u);
    expect(text).toContain("❯ wide 漢字 e\u0301");
    expect(text).toContain("漢字かな交じり文");
    // The status line stays whole on the last row, and no row is wider than the screen.
    expect(chat.screen().at(-1)).toMatch(/^ talk\d+ .*● idle$/u);
    chat.resize(80, 24);
    await chat.until(() => /● idle$/u.test(chat.screen()[23] ?? ""));
  });

  it("follows a change of its size while an answer is written", async () => {
    const held = holdCalls(model);
    await begin();
    chat.say("go");
    const call = await held.nth(1);
    call.say("one two three four five six seven eight nine ten eleven twelve thirteen fourteen");
    await chat.until("fourteen");
    chat.resize(40, 12);
    await chat.until(/nine ten[\s\S]*\n[\s\S]*fourteen/u);
    call.say(" fifteen");
    call.end();
    chat.resize(100, 30);
    await chat.until(/thirteen fourteen fifteen[\s\S]*● idle/u);
    chat.resize(80, 24);
    await chat.until(() => /● idle$/u.test(chat.screen()[23] ?? ""));
  });
});

/** The last choice, "later", is selected at first. */
const NO = `${KEYS.up}${KEYS.enter}`;
const ALWAYS = `${KEYS.up.repeat(2)}${KEYS.enter}`;

describe("a question about a call", () => {
  /** The agent runs the command in the message. */
  const obeys = (): void => {
    model.script = (call) => {
      if (isAfterTool(call)) {
        call.say("That is over.");
        call.end();
      } else callTool(call, "exec", { command: call.prompt.replace(/^run: /u, "") });
    };
  };
  const isOver =
    (n: number) =>
    (now: string): boolean =>
      times(now, "That is over.") === n && now.includes("● idle") && !now.includes("asks for a yes");

  it("is asked in place, and no means no", async () => {
    obeys();
    await begin();
    chat.say("run: shipit one");
    await chat.until(/command: shipit one[\s\S]*yes, this once/u);
    await chat.until("1 to /approve");
    chat.type(NO);
    await chat.until(isOver(1));
    await chat.until("✗ exec");
  });

  it("is answered for always: stores exactly this call, and asks about another", async () => {
    obeys();
    await begin();
    chat.say("run: shipit two");
    await chat.until("yes, this once");
    chat.type(ALWAYS);
    await chat.until("exactly this call for owner");
    chat.type(`${KEYS.down}${KEYS.enter}`);
    await chat.until(isOver(1));
    const rules = JSON.stringify(await api(served, "/api/permissions"));
    expect(rules).toContain("exec command: shipit two");
    expect(rules).not.toMatch(/"exec["(]/u);
    chat.say("run: shipit two");
    await chat.until(isOver(2));
    chat.say("run: shipit tow");
    await chat.until("yes, this once");
    chat.type(NO);
    await chat.until(isOver(3));
  });
});
