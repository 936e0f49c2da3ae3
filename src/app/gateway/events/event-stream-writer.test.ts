import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../engine/agents/engine.test-kit.ts";
import { type Frame, Outlet } from "./event-stream-writer.ts";

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

const say = (text: string): Frame => ({ joins: "text", text, render: (all) => `<${all}>` });
const note = (text: string): Frame => ({ text, render: (all) => `[${all}]` });

function open(bufferBytes = 100) {
  const response = new SlowResponse();
  const clock = virtualClock();
  const outlet = new Outlet(response as unknown as ServerResponse, {
    bufferBytes,
    stalledMs: 1_000,
    after: clock.after,
  });
  const closed: string[] = [];
  outlet.onClose((reason) => closed.push(reason));
  return { response, clock, outlet, closed };
}

describe("an outlet", () => {
  it("joins pieces that wait for a slow reader, and keeps the order", () => {
    const { response, outlet } = open(10_000);
    outlet.write(say("a"));
    response.writableNeedDrain = true;
    for (const frame of [say("b"), say("c"), note("n"), say("d"), say("e")]) outlet.write(frame);
    expect(response.written).toEqual(["<a>"]);
    response.writableNeedDrain = false;
    response.emit("drain");
    expect(response.written).toEqual(["<a>", "<bc>", "[n]", "<de>"]);
  });

  it("lets a reader go that falls too far behind", () => {
    const { response, outlet, closed } = open(10);
    response.writableNeedDrain = true;
    outlet.write(say("12345"));
    outlet.write(say("67890"));
    expect(closed).toEqual([]);
    outlet.write(say("x"));
    expect([closed, response.destroyed]).toEqual([["slow"], true]);
    outlet.write(say("nobody hears this"));
    expect(response.written).toEqual([]);
  });

  it("lets a reader go that takes nothing for too long, and leaves no timer behind", async () => {
    const { response, outlet, closed, clock } = open();
    response.writableNeedDrain = true;
    outlet.write(say("a"));
    await clock.advance(999, async () => {});
    expect(closed).toEqual([]);
    await clock.advance(1, async () => {});
    expect([closed, clock.timers]).toEqual([["slow"], 0]);
    const other = open();
    other.response.writableNeedDrain = true;
    other.outlet.write(say("a"));
    other.response.writableNeedDrain = false;
    other.response.emit("drain");
    expect(other.clock.timers).toBe(0);
  });

  it("writes what is left before it ends, and tells once how it ended", () => {
    const { response, outlet, closed } = open();
    response.writableNeedDrain = true;
    outlet.write(say("rest"));
    outlet.close("done");
    outlet.close("revoked");
    expect([response.written, closed]).toEqual([["<rest>"], ["done"]]);
    const gone = open();
    gone.response.emit("close");
    expect(gone.closed).toEqual(["gone"]);
  });
});
