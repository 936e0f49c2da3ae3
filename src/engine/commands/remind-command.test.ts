import { expect, test } from "vitest";
import { DeniedError, InvalidInputError, StoreUnavailableError } from "../../core/errors.ts";
import type { Effect } from "../../core/rights/decide.ts";
import { contextOf, run, said } from "./command-context.test-kit.ts";
import { runChatCommand } from "./run-chat-command.ts";

const heard: string[] = [];
const jobs = (remind: (text: string) => { name: string; at: string; ops: readonly never[] } | undefined) => ({
  ...{ list: async () => [], get: () => Promise.reject(new DeniedError("none")) },
  ...{ runOps: async () => [], removeOps: async () => [], enableOps: async () => [] },
  remind: (_agent: unknown, text: string) => {
    heard.push(text);
    return remind(text);
  },
});
const made = { parts: { jobs: jobs(() => ({ name: "tea", at: "noon", ops: [] })) } };

test("answers with the time and how to take it back", async () => {
  expect(await run("remind", "20m tea", made)).toEqual({
    text: "⚙️ I will remind you at noon. /cron remove tea takes it back.",
    ops: [],
  });
});

test("reads `/remind me in 20m`", async () => {
  await run("remind", "me in 20m meet Ann", made);
  expect(heard.at(-1)).toBe("in 20m meet Ann");
});

test("shows how to write it if no time comes first", async () => {
  expect(await said("remind", "tea", { parts: { jobs: jobs(() => undefined) } })).toContain("/remind 20m tea");
});

const deniesReminders = ({ action }: Effect) =>
  action === "chat_remind"
    ? ({ verdict: "deny", reason: "cron is denied" } as const)
    : ({ verdict: "allow", reason: "" } as const);

test("needs the right to schedule", async () => {
  const asked: Effect[] = [];
  await runChatCommand({ name: "remind", text: "20m tea" }, contextOf(made, asked));
  expect(asked.at(-1)).toEqual({ action: "chat_remind", rights: ["schedule"] });
  expect(await said("remind", "20m tea", { ...made, decide: deniesReminders })).toBe(
    "You may not set reminders here: cron is denied.",
  );
});

test("says what is wrong with the time, and fails with an error that may be tried again", async () => {
  const throws = (error: Error) => ({
    parts: {
      jobs: jobs(() => {
        throw error;
      }),
    },
  });
  expect(await said("remind", "x", throws(new InvalidInputError("That time is in the past.")))).toContain(
    "in the past",
  );
  await expect(run("remind", "x", throws(new StoreUnavailableError("away")))).rejects.toThrow("away");
});
