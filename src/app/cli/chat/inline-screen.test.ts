import type { Terminal } from "@earendil-works/pi-tui";
import xterm from "@xterm/headless";
import { expect, it } from "vitest";
import type { Block } from "./blocks.ts";
import { EMPTY_CHAT } from "./chat-state.ts";
import type { CleanText } from "./clean-text.ts";
import { InlineScreen } from "./inline-screen.ts";
import { LogView } from "./log-view.ts";
import { BlockRenderer } from "./render-block.ts";
import { splitText } from "./split-markdown.ts";
import { themeOf } from "./theme.ts";

const BEFORE = "what the shell printed";

/** Draws at once instead of soon. */
class DrawnScreen extends InlineScreen {
  draw(): void {
    this.doRender();
  }
}

/** A screen of its own, with something on it, and a log of turns. */
async function open(rows = 12) {
  const screen = new xterm.Terminal({ cols: 60, rows, allowProposedApi: true, scrollback: 10_000 });
  const write = (data: string): Promise<void> => new Promise((resolve) => screen.write(data, resolve));
  await write(`${BEFORE}\r\n`);
  let onResize = (): void => undefined;
  const terminal = {
    get columns() {
      return screen.cols;
    },
    get rows() {
      return screen.rows;
    },
    write: (data: string) => screen.write(data),
    start: (_: unknown, resized: () => void) => {
      onResize = resized;
    },
  };
  // What it does not have does nothing.
  const rest = new Proxy(terminal, { get: (target, name) => Reflect.get(target, name) ?? (() => undefined) });
  const tui = new DrawnScreen(rest as unknown as Terminal);
  const log = new LogView(
    new BlockRenderer({ theme: themeOf({ NO_COLOR: "1" }), verbose: "off", showThinking: false }),
  );
  tui.drops(log);
  tui.addChild(log);
  tui.addChild({ render: () => ["────", "input", "status"], invalidate: () => undefined });
  tui.start();
  let blocks: readonly Block[] = [];
  const draw = async (): Promise<void> => {
    tui.draw();
    await write("");
  };
  return {
    ...{ tui, log, draw, screen },
    async add(...more: readonly Block[]) {
      blocks = [...blocks, ...more];
      log.show({ ...EMPTY_CHAT, blocks });
      await draw();
    },
    async replace(key: string, block: Block) {
      blocks = blocks.map((one) => (one.key === key ? block : one));
      log.show({ ...EMPTY_CHAT, blocks });
      await draw();
    },
    async resize(cols: number, height: number) {
      screen.resize(cols, height);
      onResize();
      await draw();
    },
    text: (): string =>
      Array.from({ length: screen.buffer.active.length }, (_, row) =>
        screen.buffer.active.getLine(row)?.translateToString(true),
      ).join("\n"),
  };
}

const turn = (n: number): readonly Block[] => [
  { kind: "user", key: `u${n}`, text: `question ${n}.` as CleanText },
  {
    kind: "answer",
    key: `a${n}`,
    pieces: splitText(`first line of ${n}.\n\nlast line of ${n}.` as CleanText),
    isCut: false,
  },
];
const times = (text: string, part: string): number => text.split(part).length - 1;
const counts = (text: string, to: number, what = (n: number) => `last line of ${n}.`): number[] =>
  Array.from({ length: to }, (_, n) => times(text, what(n)));

it("drops what has scrolled away from the tree, and the terminal keeps each turn once, in order", async () => {
  const chat = await open();
  for (let n = 0; n < 60; n++) await chat.add(...turn(n));
  const text = chat.text();
  expect(counts(text, 60)).toEqual(Array.from({ length: 60 }, () => 1));
  expect(counts(text, 60, (n) => `question ${n}.`)).toEqual(Array.from({ length: 60 }, () => 1));
  expect(times(text, BEFORE)).toBe(1);
  expect(text.indexOf("last line of 41.")).toBeLessThan(text.indexOf("question 42."));
  expect(chat.log.render(60).length).toBeLessThan(24);
});

it("loses no turn and nothing of the shell when its size changes again and again", async () => {
  const chat = await open();
  for (let n = 0; n < 30; n++) await chat.add(...turn(n));
  for (const [cols, rows] of [
    [40, 12],
    [60, 30],
    [80, 8],
    [60, 12],
  ] as const)
    await chat.resize(cols, rows);
  for (let n = 30; n < 40; n++) await chat.add(...turn(n));
  const text = chat.text();
  expect(Math.min(...counts(text, 40))).toBe(1);
  expect(text).toContain(BEFORE);
});

it("does not drop a call that has no result yet", async () => {
  const chat = await open();
  const call = {
    kind: "tool",
    key: "t",
    callId: "c",
    name: "exec" as CleanText,
    input: "" as CleanText,
    state: "running",
    at: 0,
  } as const;
  await chat.add(call, ...turn(0), ...turn(1), ...turn(2), ...turn(3), ...turn(4));
  expect(chat.log.render(60).join("\n")).toContain("• exec");
  await chat.replace("t", { ...call, state: "done", took: 5 });
  expect(chat.text()).toContain("✓ exec 5 ms");
  await chat.add(...turn(5));
  expect(chat.log.render(60).join("\n")).not.toContain("exec");
});

it("shows another conversation below the last one", async () => {
  const chat = await open();
  for (let n = 0; n < 20; n++) await chat.add(...turn(n));
  chat.log.show({ ...EMPTY_CHAT, blocks: turn(99) });
  await chat.draw();
  expect(counts(chat.text(), 18)).toEqual(Array.from({ length: 18 }, () => 1));
  expect(times(chat.text(), "last line of 99.")).toBe(1);
});
