import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventReader } from "./sse.ts";

async function read(chunks: readonly Uint8Array[]): Promise<readonly string[]> {
  const events: string[] = [];
  const reader = eventReader((data) => events.push(data));
  for (const chunk of chunks) reader.take(chunk);
  reader.end();
  return events;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("eventReader", () => {
  it.each<[string, readonly string[]]>([
    ["data: a\n\ndata: b\n\n", ["a", "b"]],
    ["event: x\ndata:a\n\n", ["a"]],
    [": comment\n\ndata: a\r\n\r\n", ["a"]],
    ["data: a\ndata: b\n\n", ["a\nb"]],
    ["data: a", ["a"]],
    ["id: 1\nretry: 5\n\n", []],
    ["", []],
  ])("reads %j", async (text, events) => {
    expect(await read([bytes(text)])).toEqual(events);
  });

  it("returns the same events for any split of the bytes", async () => {
    const data = fc.array(
      fc.string({ unit: "grapheme", minLength: 1 }).map((text) => text.replace(/[\r\n]/g, "·")),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(data, fc.array(fc.nat(400), { maxLength: 12 }), fc.boolean(), async (events, cuts, crlf) => {
        const end = crlf ? "\r\n" : "\n";
        const whole = bytes(events.map((event) => `data: ${event}${end}${end}`).join(""));
        const places = [...new Set(cuts.map((cut) => Math.min(cut, whole.length)))].sort((a, b) => a - b);
        const chunks = [0, ...places].map((from, index) => whole.slice(from, places[index] ?? whole.length));
        expect(await read(chunks)).toEqual(events);
      }),
    );
  });

  it("refuses an event that is too long, in one line or in many, before it has arrived", () => {
    for (const part of ["x".repeat(100), "data: y\n"]) {
      let taken = 0;
      const reader = eventReader(() => {}, 1_000);
      expect(() => {
        for (; taken < 10_000; taken++) reader.take(bytes(taken === 0 ? `data: ${part}` : part));
      }).toThrow("more than 1000 characters");
      expect(taken).toBeLessThan(1_000);
    }
  });

  it("reads a line of 4,000,000 characters in 400,000 pieces in linear time", () => {
    const before = process.cpuUsage();
    let length = 0;
    const reader = eventReader((data) => {
      length = data.length;
    });
    reader.take(bytes("data: "));
    const piece = bytes("x".repeat(10));
    for (let n = 0; n < 400_000; n++) reader.take(piece);
    reader.end();
    const { user, system } = process.cpuUsage(before);
    expect(length).toBe(4_000_000);
    expect(user + system).toBeLessThan(4_000_000);
  });
});
