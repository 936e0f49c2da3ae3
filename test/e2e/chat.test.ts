/** The chat in a real terminal, beside a real engine whose model the test controls. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { KEYS, MAIN, type TerminalOptions, TestTerminal } from "../kit/terminal.ts";
import { api, echo, type FakeModel, fakeModel, type ModelCall, type Served, serve } from "./serving.ts";

let model: FakeModel;
let served: Served;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model, { more: { queue: { mode: "collect", debounceMs: 0 } } });
});
afterAll(async () => {
  await served.stop();
  await model.close();
});

let open: TestTerminal[] = [];
let name = 0;
afterEach(async () => {
  for (const terminal of open) await terminal.close();
  open = [];
  model.script = echo;
});

/** A chat in a conversation of its own. */
function chat(options: Partial<TerminalOptions> = {}): TestTerminal {
  name += 1;
  const args = [MAIN, "chat", `talk${name}`, "--home", served.home];
  const terminal = new TestTerminal({ args, env: { K: "k", ...options.env }, ...options });
  open.push(terminal);
  return terminal;
}

const times = (text: string, part: string): number => text.split(part).length - 1;
const hold = (): { calls: ModelCall[] } => {
  const calls: ModelCall[] = [];
  model.script = (call) => calls.push(call);
  return { calls };
};
const called = async (calls: readonly ModelCall[], count: number): Promise<ModelCall> => {
  while (calls.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  return calls[count - 1] as ModelCall;
};

describe("a conversation in the terminal", () => {
  it("shows an answer while it is written, as markdown, and what runs below it", async () => {
    const { calls } = hold();
    const terminal = chat();
    await terminal.until("● idle");
    terminal.say("hello");
    const call = await called(calls, 1);
    call.say("# Title\n\nSome **bold** text\n\n```ts\nconst a = 1;\n```\n\n- one\n- two\n\nand the en");
    const text = await terminal.until("and the en");
    expect(text).toContain("❯ hello");
    expect(text).toContain("writing");
    expect(text).toContain("    const a = 1;");
    expect(text).not.toContain("**bold**");
    call.say("d.");
    call.end();
    await terminal.until(/and the end\.[\s\S]*● idle/u);
    expect(times(terminal.text, "and the end")).toBe(1);
  });

  it("takes a message during a run, says where it went, and answers it once", async () => {
    const { calls } = hold();
    const terminal = chat();
    await terminal.until("● idle");
    terminal.say("first");
    const call = await called(calls, 1);
    call.say("working");
    await terminal.until("working");
    terminal.say("second");
    await terminal.until(/❯ second\n\s+↳ waits for the run, then joins one prompt/u);
    call.end();
    const next = await called(calls, 2);
    expect(next.prompt).toContain("second");
    next.say("both done");
    next.end();
    const text = await terminal.until(/both done[\s\S]*● idle/u);
    expect([times(text, "❯ second"), times(text, "↳")]).toEqual([1, 0]);
  });

  it("stops a run with Escape and keeps what it said", async () => {
    const { calls } = hold();
    const terminal = chat();
    await terminal.until("● idle");
    terminal.say("long story");
    (await called(calls, 1)).say("Once upon a time");
    await terminal.until("esc stops");
    terminal.type(KEYS.escape);
    const text = await terminal.until(/── stopped/u);
    expect(text).toContain("Once upon a time");
  });

  it("loses nothing and shows nothing twice when the engine is killed under it (L1, L12)", async () => {
    const { calls } = hold();
    const terminal = chat();
    await terminal.until("● idle");
    terminal.say("question one");
    (await called(calls, 1)).say("half an ans");
    await terminal.until("half an ans");
    served.process.kill("SIGKILL");
    await terminal.until("○ engine away");
    terminal.say("question two");
    await terminal.until("is sent when the engine is back");
    model.script = (call) => {
      call.say(call.prompt.includes("two") ? "answer two" : "answer one");
      call.end();
    };
    served = await served.crash();
    const text = await terminal.until((now) => now.includes("answer two") && now.includes("● idle"));
    const counts = ["❯ question one", "❯ question two", "answer one", "answer two", "half an ans"];
    expect(counts.map((part) => times(text, part))).toEqual([1, 1, 1, 1, 0]);
    const prompts = model.calls.filter(({ prompt }) => prompt.includes("question two"));
    expect(prompts).toHaveLength(1);
  });
});

describe("the screen", () => {
  it("is not changed by escape codes in an answer, in a title or in what a person typed", async () => {
    const hostile = "safe\u001b[2J\u001b[H\u001b]0;owned\u0007\u001b[31mred\u009b31m\u001b[?1049l\u202egnp \u0000end";
    model.script = (call) => {
      call.say(hostile);
      call.end();
    };
    const terminal = chat();
    const titles: string[] = [];
    terminal.terminal.onTitleChange((title) => titles.push(title));
    await terminal.until("● idle");
    terminal.say("hello");
    const text = await terminal.until(/safered.*end/u);
    expect(text).toContain("❯ hello");
    expect(titles).not.toContain("owned");
    expect(terminal.terminal.buffer.active.type).toBe("alternate");
    expect(text).not.toMatch(/\u202e/u);
  });

  it("has no colours with NO_COLOR", async () => {
    model.script = (call) => {
      call.say("# Head\n\n`code` and **bold**\n\n```js\nreturn 1\n```");
      call.end();
    };
    const terminal = chat({ env: { NO_COLOR: "1" } });
    await terminal.until("● idle");
    terminal.say("hi");
    await terminal.until("return 1");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are escape codes.
    expect(terminal.written).not.toMatch(/\u001b\[(?:[0-9;]*;)?(?:3[0-7]|4[0-7]|9[0-7]|38;|48;)[0-9;]*m/u);
  });

  it.each([
    [40, 12],
    [80, 24],
  ])("fits %s columns and %s rows, also with wide and combining characters", async (cols, rows) => {
    model.script = (call) => {
      call.say(
        "漢字かな交じり文 👩‍👩‍👧‍👦 e\u0301e\u0301 ｆｕｌｌ und Donaudampfschifffahrtsgesellschaftskapitän fertig",
      );
      call.end();
    };
    const terminal = chat({ cols, rows });
    await terminal.until("idle");
    terminal.say("wide 漢字");
    const text = await terminal.until("fertig");
    expect(text).toContain("漢字");
  });

  it("follows a change of its size while an answer is written", async () => {
    const { calls } = hold();
    const terminal = chat();
    await terminal.until("● idle");
    terminal.say("go");
    const call = await called(calls, 1);
    call.say("one two three four five six seven eight nine ten eleven twelve thirteen fourteen");
    await terminal.until("fourteen");
    terminal.resize(40, 12);
    await terminal.until(/nine ten[\s\S]*\n[\s\S]*fourteen/u);
    call.say(" fifteen");
    call.end();
    terminal.resize(100, 30);
    await terminal.until(/thirteen fourteen fifteen[\s\S]*● idle/u);
  });
});

describe("a question about a call", () => {
  it("of a guest is asked in place, and the call happens after a yes", async () => {
    model.script = (call) => {
      const isResult = call.body.messages.at(-1)?.role === "tool";
      if (isResult) {
        call.say("it is done");
        call.end();
        return;
      }
      const tool = { index: 0, id: "c1", function: { name: "write", arguments: '{"path":"a.txt","content":"x"}' } };
      const choice = (delta: object, finish_reason: string | null) =>
        `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      call.response.write(choice({ tool_calls: [tool] }, null));
      call.response.end(`${choice({}, "tool_calls")}data: [DONE]\n\n`);
    };
    await api(served, "/api/people", { method: "POST", body: { id: "ann", accounts: ["api:ann"] } });
    await api(served, "/api/people/ann/grants", { method: "POST", body: { subject: "write", verdict: "ask" } });
    const terminal = chat();
    await terminal.until("● idle");
    const path = `/api/agents/${encodeURIComponent("agent:main:api:dm:ann")}/messages`;
    await api(served, path, { method: "POST", body: { text: "write it", sender: { id: "ann" } } });
    const text = await terminal.until("wants to use write");
    expect(text).toContain("path: a.txt");
    await terminal.until("yes, this once");
    // A key that comes at once was meant for the input.
    await new Promise((resolve) => setTimeout(resolve, 450));
    terminal.type("y");
    await terminal.until((now) => !now.includes("wants to use write"));
    const agent = encodeURIComponent("agent:main:api:dm:ann");
    const answered = async (): Promise<string> => JSON.stringify(await api(served, `/api/agents/${agent}/history`));
    while (!(await answered()).includes("it is done")) await new Promise((resolve) => setTimeout(resolve, 20));
  });
});
