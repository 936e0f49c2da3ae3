/** Reminders of the command line, through the real process, in the chat where the person wrote last. A late one is reported. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { type FakeModel, fakeModel, type Served, serve, writeServedConfig } from "./serving.ts";

const OWNER = 7;
const root = mkdtempSync(join(tmpdir(), "rookery-reminders-"));
let model: FakeModel;
let telegram: FakeTelegram;
let served: Served | undefined;
let homes = 0;
beforeAll(async () => {
  model = await fakeModel();
  model.script = (call) => {
    call.say(call.prompt.includes("Remind me of tea.") ? "It is time for tea." : "Hello.");
    call.end();
  };
  telegram = await new FakeTelegram().start();
});
afterEach(async () => {
  await served?.stop();
  served = undefined;
});
afterAll(async () => {
  await telegram.close();
  await model.close();
  rmSync(root, { recursive: true, force: true });
});

/** A served home whose owner has written on Telegram. */
async function start(): Promise<string> {
  const home = join(root, `home${++homes}`);
  const connectors = { telegram: { token: telegram.token, apiRoot: telegram.url, drafts: false } };
  writeServedConfig(home, model, { more: { gateway: {}, connectors, owner: { accounts: [`telegram:${OWNER}`] } } });
  served = await serve(model, { home });
  const before = shown().length;
  telegram.say(OWNER, "hello");
  await telegram.until(() => shown().length > before);
  return home;
}

const shown = () => telegram.textsTo(OWNER);
const add = (home: string, ...flags: string[]) =>
  runCommand(["schedules", "add", "--name", "tea", ...flags, "--home", home], { env: { K: "k" } });

it.each([
  ["--message", "3s"],
  ["--system-event", "in 3 seconds"],
])("delivers the reminder of `schedules add --name tea %s` to the person", async (kind, at) => {
  const home = await start();
  const before = shown().length;
  expect(await add(home, "--at", at, kind, "Remind me of tea.")).toMatchObject({ code: 0, err: "" });
  expect(shown().slice(before)).toEqual([]);
  await telegram.until(() => shown().length > before);
  expect(shown().slice(before)).toEqual(["It is time for tea."]);
});

it("tells the person of a reminder whose time passed while no process ran", async () => {
  const home = await start();
  const before = shown().length;
  const due = Date.now() + 1_500;
  const at = new Date(due).toISOString();
  await add(home, "--at", at, "--missed", "once", "--max-lateness", "1ms", "--message", "Remind me of tea.");
  served?.process.kill("SIGKILL");
  await vi.waitUntil(() => Date.now() > due, { interval: 20, timeout: 10_000 });
  served = await serve(model, { home });
  await telegram.until(() => shown().length > before);
  expect(shown().slice(before)).toEqual([
    expect.stringMatching(
      /^⚠️ The cron job "tea" did not run at .*: it would have been too late\.\nIts text: Remind me of tea\.$/su,
    ),
  ]);
});
