/** The words and buttons of a question, and where it goes. */
import { describe, expect, test } from "vitest";
import type { RunId } from "../../core/ids.ts";
import { OWNER } from "../../core/people/person.ts";
import type { ApprovalId } from "../../core/rights/approval.ts";
import { ANN, command, NOW } from "./answers.test-kit.ts";
import { approvalPortOf } from "./approval-port.ts";
import { approvalButtons, questionMessage, questionOf, waitingText } from "./question.ts";

describe("the question", () => {
  const held = (more: object = {}) => ({
    ...{ digest: "d", files: [], behalf: { person: ANN } },
    judged: {
      call: { callId: "c1", name: "exec", arguments: { command: "ls" } },
      effects: [command("ls")],
      decision: { reason: "why" },
      person: ANN,
    },
    ...more,
  });
  const asking = {
    agent: { id: "a1", state: { label: "main" } },
    run: { id: "r1", body: { delivery: { channel: "c" } } },
    at: NOW,
    dueAt: NOW + 5,
    uuid: () => "00000000-0000-7000-8000-000000000000",
  };
  const question = (more?: object) => questionOf(asking as never, held(more) as never);
  test("is about exactly this call", () => {
    expect(question()).toMatchObject({
      id: "aaaa",
      agentId: "a1",
      runId: "r1",
      callId: "c1",
      tool: "exec",
      digest: "d",
      delivery: { channel: "c" },
      askedAt: NOW,
      dueAt: NOW + 5,
      effects: [command("ls")],
    });
    expect(question().files).toBeUndefined();
    expect(question().prompt.split("\n")).toEqual([
      "exec",
      "  command: ls",
      "main asks for ann: why",
      "It may use: exec",
      "No file is covered: the contents of files may change before the call.",
    ]);
    const covering = question({ files: ["a", "b"], preview: "PRE\nVIEW", directory: "/x" });
    expect(covering.files).toEqual(["a", "b"]);
    expect(covering.prompt.split("\n")).toEqual([
      "exec",
      "  PRE",
      "  VIEW",
      "main asks for ann: why",
      "It works in /x",
      "It may use: exec",
      "The contents of a, b are covered. Other files are not.",
    ]);
  });
  test("has a yes only if all of it is in the message", () => {
    const labels = (preview: string, max?: number) =>
      questionMessage(question({ preview }), max).buttons.map(({ label }) => label);
    expect(labels("x".repeat(1_000))).toEqual(["Yes, once", "Yes, always …", "No"]);
    expect(labels("x".repeat(1_000), 1_000)).toEqual(["No"]);
    expect(labels("x".repeat(2_001), 4_096)).toEqual(["No"]);
    expect(labels("x\n".repeat(60))).toEqual(["No"]);
    expect(questionMessage(question({ preview: "x".repeat(2_001) })).text).toContain('"rookery approvals show aaaa"');
  });
  test("says how to answer, and until when", () => {
    expect(questionMessage({ ...question(), dueAt: 0 }).text).toContain(
      '"rookery approvals no aaaa" before 1970-01-01T00:00:00.000Z.',
    );
    expect(
      approvalButtons({ id: "aaaa" as ApprovalId, digest: "0123456789abcdef0" }).map(({ token, style }) => [
        token,
        style,
      ]),
    ).toEqual([
      ["a:aaaa:y:0123456789abcdef", "yes"],
      ["a:aaaa:w:0123456789abcdef", undefined],
      ["a:aaaa:n:0123456789abcdef", "no"],
    ]);
    const two = waitingText([
      { ...question(), dueAt: 5 },
      { ...question(), id: "bbbb" as ApprovalId, dueAt: 0 },
    ]);
    expect(two).toContain(
      "exec (approval aaaa), exec (approval bbbb). Without an answer until 1970-01-01T00:00:00.000Z",
    );
    expect(two).toContain("send /deny aaaa.");
  });
});

test("a question goes to the owner, where the owner is", async () => {
  const asked: unknown[] = [];
  const parts = {
    people: { addressOf: async (person: string) => ({ channel: "person", to: person }) },
    asked: (at: number) => void asked.push(at),
    definitionOf: () => undefined,
  };
  const port = approvalPortOf(parts);
  const here = { channel: "c", to: "1" };
  expect(await port.askAt({ person: OWNER }, here)).toBe(here);
  expect(await port.askAt({ person: OWNER }, undefined)).toEqual({ channel: "person", to: OWNER });
  expect(await port.askAt({ person: ANN }, here)).toEqual({ channel: "person", to: OWNER });
  expect(await port.surroundingsOf({} as never, {} as never, [], "r" as RunId)).toEqual({});
  const around = approvalPortOf({ ...parts, surroundingsOf: async () => ({ directory: "/x" }) });
  expect(await around.surroundingsOf({} as never, {} as never, [], "r" as RunId)).toEqual({ directory: "/x" });
  port.asked(7);
  expect(asked).toEqual([7]);
});
