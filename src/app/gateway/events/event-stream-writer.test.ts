import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { EventStreamWriter, type Frame } from "./event-stream-writer.ts";

class SlowResponse extends EventEmitter {
  writableNeedDrain = false;
  writableFinished = false;
  destroyed = false;
  written: string[] = [];
  write(text: string): boolean {
    this.written.push(text);
    return !this.writableNeedDrain;
  }
  end(): void {
    this.writableFinished = true;
    this.emit("close");
  }
  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

const say = (text: string): Frame => ({ joinKey: "text", text, render: (all) => `<${all}>` });
const note = (text: string): Frame => ({ text, render: (all) => `[${all}]` });

function open(bufferBytes = 100) {
  const response = new SlowResponse();
  const clock = virtualClock();
  const writer = new EventStreamWriter(response as unknown as ServerResponse, {
    bufferBytes,
    stalledMs: 1_000,
    after: clock.after,
  });
  const closed: string[] = [];
  writer.onClose((reason) => closed.push(reason));
  return { response, clock, writer, closed };
}

describe("an event stream writer", () => {
  it("joins pieces of text that wait for a slow reader, and keeps the order", () => {
    const { response, writer } = open(10_000);
    writer.write(say("a"));
    response.writableNeedDrain = true;
    for (const frame of [say("b"), say("c"), note("n"), say("d"), say("e")]) writer.write(frame);
    expect(response.written).toEqual(["<a>"]);
    response.writableNeedDrain = false;
    response.emit("drain");
    expect(response.written).toEqual(["<a>", "<bc>", "[n]", "<de>"]);
  });

  it("cuts a reader that falls too far behind", () => {
    const { response, writer, closed } = open(10);
    response.writableNeedDrain = true;
    writer.write(say("12345"));
    writer.write(say("67890"));
    expect(closed).toEqual([]);
    writer.write(say("x"));
    expect([closed, response.destroyed]).toEqual([["slow"], true]);
    writer.write(say("written after the cut"));
    expect(response.written).toEqual([]);
  });

  it("counts what still waits after a reader has read a part, events without a text too", () => {
    const { response, writer, closed } = open(1_000);
    response.writableNeedDrain = true;
    for (let n = 0; n < 5; n++) writer.write(note(""));
    // The reader takes one event at a time.
    response.write = (text) => {
      response.written.push(text);
      response.writableNeedDrain = true;
      return false;
    };
    const read = () => {
      response.writableNeedDrain = false;
      response.emit("drain");
    };
    read();
    writer.write(note(""));
    expect([closed, response.written.length]).toEqual([[], 1]);
    writer.write(note(""));
    expect([closed, response.destroyed]).toEqual([["slow"], true]);
  });

  it("gives a reader that reads a part the whole time again for the rest", async () => {
    const { response, writer, closed, clock } = open();
    response.writableNeedDrain = true;
    writer.write(say("a"));
    await clock.advance(900);
    response.emit("drain");
    await clock.advance(900);
    expect(closed).toEqual([]);
    await clock.advance(100);
    expect(closed).toEqual(["slow"]);
  });

  it("cuts a reader that does not read the rest of a stream that is done", async () => {
    const { response, writer, closed, clock } = open();
    response.end = () => {};
    writer.close("done");
    await clock.advance(999);
    expect([closed, response.destroyed]).toEqual([[], false]);
    await clock.advance(1);
    expect([closed, response.destroyed, clock.timers]).toEqual([["slow"], true, 0]);
  });

  it("tells a listener that comes too late why it is closed", () => {
    const { response, writer } = open();
    response.emit("error", new TypeError("reset"));
    const late: string[] = [];
    writer.onClose((reason) => late.push(reason));
    expect([late, writer.closed]).toEqual([["gone"], "gone"]);
  });

  it("cuts a reader that stalls, and leaves no timer behind", async () => {
    const { response, writer, closed, clock } = open();
    response.writableNeedDrain = true;
    writer.write(say("a"));
    await clock.advance(999);
    expect(closed).toEqual([]);
    await clock.advance(1);
    expect([closed, clock.timers]).toEqual([["slow"], 0]);
    const other = open();
    other.response.writableNeedDrain = true;
    other.writer.write(say("a"));
    other.response.writableNeedDrain = false;
    other.response.emit("drain");
    expect(other.clock.timers).toBe(0);
  });

  it("writes the buffered frames before it ends, and reports its end once", () => {
    const { response, writer, closed } = open();
    response.writableNeedDrain = true;
    writer.write(say("rest"));
    writer.close("done");
    writer.close("revoked");
    expect([response.written, closed]).toEqual([["<rest>"], ["done"]]);
    const lost = open();
    lost.response.emit("close");
    expect(lost.closed).toEqual(["gone"]);
  });
});
