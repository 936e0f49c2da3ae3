import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type OpenTriggers, openTriggers } from "../../app/node/open-triggers.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { homePaths } from "../../config/paths.ts";
import { CurrentSettings } from "../../config/settings.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { silentLog } from "../../core/ports/log.ts";
import type { Change } from "../../core/store/change.ts";
import { openMemoryStore } from "../store/sqlite/open-store.ts";
import { cronTaskFiles, heartbeatTaskFiles, watchTaskFiles } from "./task-files.ts";

const ID = "tz4a98xxat96iws9zmbrgj3a";
const task = (schedule: string, body = "Look at the mail.") =>
  `---\nname: Mail\nschedule: "${schedule}"\ntaskId: ${ID}\n---\n\n${body}\n`;

let home: string;
let workspace: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-tasks-"));
  workspace = join(home, "workspace");
  mkdirSync(workspace);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Writes a file and creates its directories. */
function write(path: string, text: string): void {
  mkdirSync(join(workspace, path, ".."), { recursive: true });
  writeFileSync(join(workspace, path), text);
}

/** A clock that does not advance, except that the settling time passes at once. */
const quick = (): Clock => {
  const clock = virtualClock();
  return {
    ...clock,
    after(ms, callback) {
      if (ms >= 1_000) return clock.after(ms, callback);
      const timer = setImmediate(callback);
      return () => clearImmediate(timer);
    },
  };
};

describe("task files", () => {
  it("are regular files at the expected path; other files are ignored", async () => {
    write("cron/mail/TASK.md", task("*/5 * * * *"));
    write("cron/notes/README.md", "no task");
    write("cron/.hidden/TASK.md", task("* * * * *"));
    write("heartbeat/inbox.md", "# Inbox\nlook");
    write("heartbeat/empty.md", "");
    writeFileSync(join(home, "outside.md"), task("* * * * *"));
    mkdirSync(join(workspace, "cron/linked"));
    symlinkSync(join(home, "outside.md"), join(workspace, "cron/linked/TASK.md"));
    symlinkSync(join(home, "outside.md"), join(workspace, "heartbeat/linked.md"));
    expect((await cronTaskFiles(workspace)).map(({ path }) => path)).toEqual(["cron/mail/TASK.md"]);
    expect(await heartbeatTaskFiles(workspace, silentLog)).toMatchObject([{ id: "inbox", title: "Inbox" }]);
  });

  it("are read when a file below cron/ changes, and polled if changes are not reported", async () => {
    let changed = Promise.withResolvers<void>();
    const stop = watchTaskFiles([workspace], quick(), () => changed.resolve());
    const next = async (change: () => void) => {
      changed = Promise.withResolvers();
      change();
      await changed.promise;
    };
    await next(() => write("cron/mail/TASK.md", task("*/5 * * * *")));
    await next(() => write("cron/mail/TASK.md", task("*/6 * * * *")));
    await next(() => rmSync(join(workspace, "cron/mail"), { recursive: true }));
    stop();

    const clock = virtualClock();
    let polls = 0;
    const stopPolling = watchTaskFiles([join(home, "not there", "\0")], clock, () => polls++);
    await clock.advance(3 * 60_000);
    expect(polls).toBe(3);
    stopPolling();
    await clock.advance(3 * 60_000);
    expect([polls, clock.timers]).toEqual([3, 0]);
  });
});

describe("a running node", () => {
  let triggers: OpenTriggers | undefined;
  afterEach(() => triggers?.stop());

  it("follows a task file: a new file adds a job, a changed file edits it, a removed file removes it", async () => {
    const memory = openMemoryStore();
    const seen: Change[] = [];
    let waiting: { site: string; resolve: () => void } | undefined;
    const store = {
      ...memory,
      commit: async (change: Change) => {
        const result = await memory.commit(change);
        seen.push(change);
        if (waiting && change.site === waiting.site) waiting.resolve();
        return result;
      },
    };
    const until = (site: string, change: () => void) =>
      new Promise<void>((resolve) => {
        waiting = { site, resolve };
        change();
      });
    const { config } = parseConfig({ text: `{ heartbeat: { every: "0" } }`, file: "rookery.json5", env: {} });
    const ports = { clock: quick(), ids: seededIds("files"), store, log: silentLog };
    triggers = openTriggers({
      ports,
      settings: new CurrentSettings(config),
      paths: homePaths(home),
      env: {},
      models: undefined as never,
    });
    write("cron/mail/TASK.md", task("*/5 * * * *"));
    await triggers.start({ post: async () => undefined } as never);
    expect(await memory.job(ID)).toMatchObject({ name: "Mail", file: "cron/mail/TASK.md", revision: 1 });

    await until("task.edit", () => write("cron/mail/TASK.md", task("*/6 * * * *")));
    expect(await memory.job(ID)).toMatchObject({ schedule: { expr: "*/6 * * * *" }, revision: 2 });
    await until("task.gone", () => rmSync(join(workspace, "cron/mail"), { recursive: true }));
    expect(await memory.job(ID)).toBeUndefined();
    await until("task.new", () => write("cron/post/TASK.md", task("*/7 * * * *")));
    expect(await memory.job(ID)).toMatchObject({ file: "cron/post/TASK.md" });
    // The same text changes nothing, and a file that is not a task removes nothing.
    const before = seen.length;
    write("cron/other/TASK.md", "no task at all");
    write("cron/post/TASK.md", task("*/7 * * * *"));
    await triggers.stop();
    expect(seen.slice(before).filter(({ site }) => site.startsWith("task."))).toEqual([]);
  });

  it("reads heartbeat/<id>.md at each tick", async () => {
    const { config } = parseConfig({ text: "{}", file: "rookery.json5", env: {} });
    const store = openMemoryStore();
    const ports = { clock: quick(), ids: seededIds("beats"), store, log: silentLog };
    triggers = openTriggers({
      ports,
      settings: new CurrentSettings(config),
      paths: homePaths(home),
      env: {},
      models: undefined as never,
    });
    await triggers.start({ post: async () => undefined } as never);
    const titles = async () =>
      (await triggers?.triggers.heartbeat.tasks.list("main"))?.map(({ title, prompt }) => `${title}: ${prompt}`);
    write("heartbeat/inbox.md", "look at the inbox");
    expect(await titles()).toEqual(["inbox: look at the inbox"]);
    write("heartbeat/inbox.md", "---\ntitle: Post\n---\nlook again");
    expect(await titles()).toEqual(["Post: look again"]);
    rmSync(join(workspace, "heartbeat/inbox.md"));
    expect(await titles()).toEqual([]);
  });
});
