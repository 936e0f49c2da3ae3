import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OFFLINE_LABEL } from "../../../adapters/models/offline-model.ts";
import { openSqliteStore } from "../../../adapters/store/sqlite/open-store.ts";
import { systemIds } from "../../../adapters/system/system-ids.ts";

let home: string;
let children: ChildProcess[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-run-"));
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
});

const rookery = (...argv: readonly string[]) => rookeryWith("run", ...argv);

function rookeryWith(...argv: readonly string[]) {
  const env = { ...process.env, ROOKERY_HOME: home, npm_command: "", npm_lifecycle_event: "" };
  const child = spawn(process.execPath, ["src/main.ts", ...argv], { env, stdio: "pipe" });
  children.push(child);
  const out = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    out.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    out.stderr += chunk;
  });
  const ended = once(child, "close").then(([status]) => ({ ...out, status: status as number | null }));
  return { child, ended, out };
}

const send = (input: string, ...argv: readonly string[]) => {
  const { child, ended } = rookery(...argv);
  child.stdin.end(input);
  return ended;
};

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
};

/** Makes every job due, as if its time had passed while no process ran. */
async function letTimePass(): Promise<void> {
  const store = openSqliteStore({ home });
  const at = Date.now();
  for (const job of await store.jobs()) {
    const due = { ...job, state: { ...job.state, nextRunAtMs: at - 1_000 } };
    await store.commit({ id: systemIds().change(), site: "test", at, ops: [{ op: "job.put", job: due }] });
  }
  await store.close();
}

describe("rookery run", () => {
  it("prints the labelled answer of the offline model and exits with 0", async () => {
    const { stdout, stderr, status } = await send("hi\n");
    expect(stdout.startsWith(`${OFFLINE_LABEL} Hello.`)).toBe(true);
    expect([stdout.trimEnd().split("\n").length, stderr, status]).toEqual([1, "", 0]);
  });

  it("answers every line in order with --lines, and remembers across processes", async () => {
    const { stdout, status } = await send("one\n\ntwo\nthree", "--lines");
    expect(stdout.split("\n").filter(Boolean)).toEqual(
      ["one", "two", "three"].map((word) => `${OFFLINE_LABEL} You said: ${word}`),
    );
    expect(status).toBe(0);
    const second = await send("four");
    expect(second.stdout).toBe(`${OFFLINE_LABEL} You said: four\n`);
  });

  /** What people wrote, with a bar where a session begins. */
  const conversation = (): string =>
    readdirSync(join(home, "agents"))
      .flatMap((id) => readFileSync(join(home, "agents", id, "history.jsonl"), "utf8").split("\n"))
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { type: string; role?: string; content?: { text?: string }[] })
      .flatMap(({ type, role, content }) => {
        if (type === "start" || type === "reset") return ["|"];
        return type === "message" && role === "user" ? [content?.[0]?.text ?? ""] : [];
      })
      .join(" ");

  it.each(["alone", "beside a running engine"])(
    "answers every line in order around /new and /reset, each in its own session: %s",
    async (where) => {
      const engine = where === "alone" ? undefined : rookery();
      if (engine) await until(() => existsSync(join(home, "control.sock")));
      const { stdout, stderr, status } = await send("A\nB\n/new C\nD\n/reset\nE\n", "--lines");
      expect(stdout.split("\n").filter((line) => line.startsWith(`${OFFLINE_LABEL} You said`))).toEqual(
        ["A", "B", "C", "D", "E"].map((word) => `${OFFLINE_LABEL} You said: ${word}`),
      );
      expect([stderr, status]).toEqual(["", 0]);
      engine?.child.kill("SIGTERM");
      await engine?.ended;
      expect(conversation()).toBe("| A B | C D | E");
    },
  );

  it("reports a line whose answer may not be sent, and succeeds", async () => {
    const { stdout, stderr, status } = await send("A\n/send off\nB\n", "--lines");
    expect(stdout).toContain("You said: A");
    expect(stdout).not.toContain("You said: B");
    expect(stderr).toMatch(/^Line 3 has no answer: suppressed \(.+\)\.$/mu);
    expect(status).toBe(0);
  });

  it("says at its end that schedules need serve, and a later run fires what is due", async () => {
    const first = await send("remind me in 10 seconds to drink tea\n");
    expect(first.stdout).toContain("I will remind you at");
    expect(first.stderr).toMatch(
      /^1 scheduled job waits; the next, "drink tea", is due at .+\. Keep `rookery serve` running to have it on time/mu,
    );
    expect(first.status).toBe(0);
    await letTimePass();
    const later = await send("hi\n");
    expect(later.stdout).toContain("Reminder: drink tea");
    // The reminder may be at work when the line arrives; then the line is collected behind it.
    expect(later.stdout).toMatch(/Hello|You said: \[Queued messages[\s\S]*\nhi\n/u);
    // It had its run and is gone, so there is nothing to say about schedules.
    expect([later.stderr, later.status]).toEqual(["", 0]);
    expect((await send("hi\n")).stdout).not.toContain("Reminder");
  });

  it("answers in a second terminal through the first, which ends on a signal", async () => {
    const first = rookery();
    await until(() => existsSync(join(home, "control.sock")));
    const second = await send("over there");
    expect(second).toEqual({ status: 0, stdout: `${OFFLINE_LABEL} You said: over there\n`, stderr: "" });
    expect(first.out.stdout).toBe("");
    // Its input is open: a signal ends it, and the first one goes on.
    const third = rookery("--lines");
    third.child.stdin.write("still here\n");
    await until(() => third.out.stdout !== "");
    third.child.kill("SIGINT");
    expect(await third.ended).toEqual({
      status: 0,
      stdout: `${OFFLINE_LABEL} You said: still here\n`,
      stderr: "",
    });
    const serving = await rookeryWith("serve", "--port", "0").ended;
    expect([serving.status, serving.stdout]).toEqual([4, ""]);
    expect(serving.stderr).toContain("When it has ended, start `node src/main.ts serve`.");
    // Its input is still open: the signal alone must end it.
    first.child.kill("SIGTERM");
    expect((await first.ended).status).toBe(0);
    expect((await send("hi again")).status).toBe(0);
  });
});
