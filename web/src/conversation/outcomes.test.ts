import "../page.test-kit.ts";
import { describe, expect, it } from "vitest";

const { placeUnanswered, placeUndelivered, shownReports } = await import("./outcomes.ts");

const entry = (position: number, role: "user" | "assistant", more: object = {}) => ({
  position,
  entry: { type: "message", id: `e${position}`, role, timestamp: position * 10, ...more },
});
const said = (text: string) => ({ content: [{ type: "text", text }] });
const PATH = [
  entry(5, "user", { seqs: [1] }),
  entry(6, "assistant", { runId: "r1", ...said("One.") }),
  entry(7, "user", { seqs: [3] }),
  entry(8, "assistant", { runId: "r2", content: [{ type: "toolCall" }] }),
];
const message = (seq: number, state: string, at: number) => ({ seq, text: `m${seq}`, state, at });

describe("messages without an answer", () => {
  it("shows them where they were sent, waiting ones at the end, and none that the history contains", () => {
    const all = [
      message(1, "failed", 49),
      message(2, "dropped", 65),
      message(4, "waiting", 1),
      message(5, "failed", 99),
    ];
    const placed = placeUnanswered(PATH, all, { isFromStart: false });
    expect([...placed].map(([position, ones]) => [position, ones.map(({ seq }) => seq)])).toEqual([
      [7, [2]],
      [undefined, [4, 5]],
    ]);
  });

  it("omits those from before the first loaded entry, unless the page shows the beginning", () => {
    const old = [message(9, "dropped", 10)];
    expect(placeUnanswered(PATH, old, { isFromStart: false }).size).toBe(0);
    expect([...placeUnanswered(PATH, old, { isFromStart: true }).keys()]).toEqual([5]);
  });
});

describe("reports and deliveries", () => {
  it("marks reports as read when the page shows the text of their run", () => {
    const reports = ["r1", "r2", "r3", undefined].map((runId) => ({ id: `d-${runId}`, runId }));
    expect(shownReports(PATH, reports).map(({ id }) => id)).toEqual(["d-r1"]);
  });

  it("shows a delivery at the last entry of its run", () => {
    const path = [...PATH, entry(9, "assistant", { runId: "r2", ...said("Two.") })];
    expect([...placeUndelivered(path, [{ runId: "r2" }, { runId: "r9" }]).keys()]).toEqual([9, undefined]);
  });
});
