import { describe, expect, it } from "vitest";
import { createHome } from "../../config/create-home.ts";
import { homePaths } from "../../config/paths.ts";
import { cliHome } from "./cli.test-kit.ts";
import { printsDocumentsOf } from "./command-document.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const { run: cli } = cliHome({
  setup: ({ dir, inStore }) => createHome(homePaths(dir)).then(() => inStore(async () => {})),
});

const ADD = [
  "schedules",
  "add",
  "--name",
  "mail",
  "--cron",
  "0 9 * * 1-5",
  "--tz",
  "Europe/Berlin",
  "--message",
  "look at the mail",
];

describe("rookery schedules", () => {
  it("says in how long a job is due, and exactly when", async () => {
    const { out } = await cli("schedules", "add", "--name", "tea", "--every", "30m", "--message", "m");
    expect(out).toMatch(/\nnext {4}in 30 min {2}\(.*\d\d:\d\d.*\)\n {8}in 1 h {2}\(/);
  });

  it("adds a job and prints its schedule and its next three due times", async () => {
    const { code, out } = await cli(...ADD);
    expect(code ?? 0).toBe(0);
    expect(out).toContain("At 09:00 on Monday to Friday (Europe/Berlin)");
    expect(out.match(/ 09:00:00 \(Europe\/Berlin\)/g)).toHaveLength(3);
  });

  it("lists, disables, enables, runs, shows and removes a job", async () => {
    const { id } = JSON.parse((await cli(...ADD, "--json")).out) as { id: string };
    expect((await cli("schedules")).out).toMatch(/^on {3}mail: /u);
    await cli("schedules", "disable", id);
    expect((await cli("schedules", "list")).out).toBe("No jobs.\n");
    expect((await cli("schedules", "list", "--all")).out).toMatch(/^off {2}mail: /u);
    await cli("schedules", "enable", "Mail");
    await cli("schedules", "run", id);
    expect((await cli("schedules", "runs", id)).out).toMatch(/ fired {2}running/);
    expect(JSON.parse((await cli("schedules", "runs", id, "--json")).out).items).toHaveLength(1);
    expect((await cli("schedules", "show", id)).out).toContain("look at the mail");
    await cli("schedules", "remove", id);
    expect((await cli("schedules", "list", "--all")).out).toBe("No jobs.\n");
  });

  it.each([
    [
      ["schedules", "add", "--name", "x", "--message", "m"],
      "schedules add needs --name, a schedule (--at, --every or --cron) and --message or --system-event.",
    ],
    [["schedules", "add", "--name", "x", "--every", "often", "--message", "m"], "--every takes a duration"],
    [["schedules", "add", "--name", "x", "--every", "5m"], "schedules add needs --name"],
    [["schedules", "show", "missing"], "unknown cron job id: missing"],
    [["schedules", "remove", "../x"], "Cron task id contains invalid characters."],
  ])("refuses %j with a hint", async (argv, message) => {
    const { code, err } = await cli(...argv);
    expect(code).not.toBe(0);
    expect(err).toContain(message);
  });

  it("accepts a duration from now", async () => {
    const before = Date.now();
    const { out } = await cli("schedules", "add", "--name", "tea", "--at", "10m", "--system-event", "Tea.", "--json");
    const job = JSON.parse(out) as { schedule: { atMs: number }; wakeMode: string; sessionTarget: string };
    expect(job.schedule.atMs - before).toBeGreaterThanOrEqual(600_000);
    expect([job.wakeMode, job.sessionTarget]).toEqual(["now", "main"]);
  });
});

it("rookery schedules heartbeat prints its settings", async () => {
  expect((await cli("schedules", "heartbeat")).out).toBe("main: every 30m, delivers to last\n");
});

it("schedules add says that a schedule needs an engine, if none runs", async () => {
  const { code, err } = await cli(...ADD);
  expect([code, err]).toEqual([
    EXIT.ok,
    expect.stringMatching(/^No engine runs here\. Keep `rookery serve.*` running/u),
  ]);
  expect((await cli(...ADD, "--json")).err).toBe("");
});

printsDocumentsOf("schedules runs");
