/** Reminders of the command line, through the real process, in the chat where the person wrote last. A late one is reported. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { type FakeModel, fakeModel, type Served, serve, writeServedConfig } from "./serving.ts";

const OWNER = 7;
const root = mkdtempSync(join(tmpdir(), "rookery-reminders-"));
let model: FakeModel;
let homes = 0;
beforeAll(async () => {
  model = await fakeModel();
  model.script = (call) => {
    call.say(call.prompt.includes("Remind me of tea.") ? "It is time for tea." : "Hello.");
    call.end();
  };
});
afterAll(async () => {
  await model.close();
  rmSync(root, { recursive: true, force: true });
});

interface Owner {
  readonly home: string;
  readonly telegram: FakeTelegram;
  served: Served;
  /** The texts that the owner got after the first answer. */
  reminded(): readonly string[];
  /** Runs `rookery schedules add`. */
  add(...flags: readonly string[]): ReturnType<typeof runCommand>;
}

/** Runs the test with a served home whose owner has written on Telegram. */
async function withOwner(test: (owner: Owner) => Promise<void>): Promise<void> {
  const home = join(root, `home${++homes}`);
  const telegram = await new FakeTelegram().start();
  const connectors = { telegram: { token: telegram.token, apiRoot: telegram.url, drafts: false } };
  writeServedConfig(home, model, { more: { gateway: {}, connectors, owner: { accounts: [`telegram:${OWNER}`] } } });
  const shown = () => telegram.textsTo(OWNER);
  const owner: Owner = {
    ...{ home, telegram, served: await serve(model, { home }), reminded: () => shown().slice(1) },
    add: (...flags) => runCommand(["schedules", "add", "--name", "tea", ...flags, "--home", home], { env: { K: "k" } }),
  };
  try {
    telegram.say(OWNER, "hello");
    await telegram.until(() => shown().length > 0);
    await test(owner);
  } finally {
    await owner.served.stop();
    await telegram.close();
  }
}

// They wait for real time, side by side.
it.concurrent.each([
  ["--message", "3s"],
  ["--system-event", "in 3 seconds"],
])("delivers the reminder of `schedules add --name tea %s` to the person", (kind, at) =>
  withOwner(async ({ telegram, reminded, add }) => {
    expect(await add("--at", at, kind, "Remind me of tea.")).toMatchObject({ code: 0, err: "" });
    expect(reminded()).toEqual([]);
    await telegram.until(() => reminded().length > 0);
    expect(reminded()).toEqual(["It is time for tea."]);
  }),
);

it.concurrent("tells the person of a reminder whose time passed while no process ran", () =>
  withOwner(async (owner) => {
    const due = Date.now() + 1_500;
    const at = new Date(due).toISOString();
    await owner.add("--at", at, "--missed", "once", "--max-lateness", "1ms", "--message", "Remind me of tea.");
    owner.served.process.kill("SIGKILL");
    await vi.waitUntil(() => Date.now() > due, { interval: 20, timeout: 10_000 });
    owner.served = await serve(model, { home: owner.home });
    await owner.telegram.until(() => owner.reminded().length > 0);
    expect(owner.reminded()).toEqual([
      expect.stringMatching(
        /^⚠️ The cron job "tea" did not run at .*: it would have been too late\.\nIts text: Remind me of tea\.$/su,
      ),
    ]);
  }));
