/** `rookery send` against a real home. It is called in this process; only the tests of signals start processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cliHome, ids, runCommand } from "../cli.test-kit.ts";
import { runCli } from "../router.ts";

const OFFLINE_LABEL = "[offline model, not an LLM]";

const home = cliHome();
let children: ChildProcess[];
beforeEach(() => {
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
});

const send = (input: string, ...argv: readonly string[]) =>
  runCommand(["send", ...argv, "--home", home.dir], { input });

/** Starts `run` in a process of its own. Its input is open. */
function start(...argv: readonly string[]) {
  const env = { ...process.env, ROOKERY_HOME: home.dir };
  const child = spawn(process.execPath, ["src/main.ts", "send", ...argv], { env, stdio: "pipe" });
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

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
};

const untilServed = (): Promise<void> => until(() => existsSync(join(home.dir, "control.sock")));

/** Runs `work` while another `run` is the engine of the home and waits for input. */
async function beside(work: () => Promise<void>): Promise<void> {
  const { promise, resolve: endInput } = Promise.withResolvers<string>();
  async function* input(): AsyncGenerator<string> {
    yield await promise;
  }
  const nowhere = { write: () => undefined };
  const stdin = () => ({ isTTY: false, [Symbol.asyncIterator]: input });
  const engine = runCli(["send", "--home", home.dir], { env: {}, stdin, stdout: nowhere, stderr: nowhere });
  try {
    await untilServed();
    await work();
  } finally {
    endInput("");
    await engine;
  }
}

/** Makes every job due, as if its time had passed while no process ran. */
const letTimePass = (): Promise<void> =>
  home.inStore(async (store) => {
    const at = Date.now();
    for (const job of await store.jobs()) {
      const due = { ...job, state: { ...job.state, nextRunAtMs: at - 1_000 } };
      await store.commit({ id: ids.change(), site: "test", at, ops: [{ op: "job.put", job: due }] });
    }
  });

describe("rookery send", () => {
  it("prints the labelled answer of the offline model and exits with 0", async () => {
    const { out, err, code } = await send("hi\n");
    expect(out.startsWith(`${OFFLINE_LABEL} Hello.`)).toBe(true);
    expect([out.trimEnd().split("\n").length, err, code]).toEqual([1, "", 0]);
  });

  it("answers every line in order with --lines, and a later run answers in the same home", async () => {
    const { out, code } = await send("one\n\ntwo\nthree", "--lines");
    expect(out.split("\n").filter(Boolean)).toEqual(
      ["one", "two", "three"].map((word) => `${OFFLINE_LABEL} You said: ${word}`),
    );
    expect(code).toBe(0);
    expect((await send("four")).out).toBe(`${OFFLINE_LABEL} You said: four\n`);
    expect(conversation()).toBe("| one two three four");
  });

  /** What people wrote, with a bar where a session begins. */
  const conversation = (): string =>
    readdirSync(join(home.dir, "agents"))
      .flatMap((id) => readFileSync(join(home.dir, "agents", id, "history.jsonl"), "utf8").split("\n"))
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
      const talk = async (): Promise<void> => {
        const { out, err, code } = await send("A\nB\n/new C\nD\n/reset\nE\n", "--lines");
        expect(out.split("\n").filter((line) => line.startsWith(`${OFFLINE_LABEL} You said`))).toEqual(
          ["A", "B", "C", "D", "E"].map((word) => `${OFFLINE_LABEL} You said: ${word}`),
        );
        expect([err, code]).toEqual(["", 0]);
      };
      await (where === "alone" ? talk() : beside(talk));
      expect(conversation()).toBe("| A B | C D | E");
    },
  );

  it("reports a line whose answer may not be sent, and succeeds", async () => {
    const { out, err, code } = await send("A\n/send off\nB\n", "--lines");
    expect(out).toContain("You said: A");
    expect(out).not.toContain("You said: B");
    expect(err).toMatch(/^Line 3 has no answer: suppressed \(.+\)\.$/mu);
    expect(code).toBe(0);
  });

  it("says at its end that schedules need serve, and a later run fires what is due", async () => {
    const first = await send("remind me in 10 seconds to drink tea\n");
    expect(first.out).toContain("I will remind you at");
    expect(first.err).toMatch(
      /^1 scheduled job waits; the next, "drink tea", is due at .+\. Keep `rookery serve(?: --home \S+)?` running to have it on time/mu,
    );
    expect(first.code).toBe(0);
    await letTimePass();
    const later = await send("hi\n");
    expect(later.out).toContain("Reminder: drink tea");
    // The reminder may be at work when the line arrives; then the line is collected behind it.
    expect(later.out).toMatch(/Hello|You said: \[Queued messages[\s\S]*\nhi\n/u);
    // It had its run and is gone, so there is nothing to say about schedules.
    expect([later.err, later.code]).toEqual(["", 0]);
    expect((await send("hi\n")).out).not.toContain("Reminder");
  });

  it("answers in a second terminal through the first, which ends on a signal", async () => {
    const first = start();
    await untilServed();
    const second = await send("over there");
    expect(second).toEqual({ code: 0, out: `${OFFLINE_LABEL} You said: over there\n`, err: "" });
    expect(first.out.stdout).toBe("");
    // Its input is open: a signal ends it, and the first one still runs.
    const third = start("--lines");
    third.child.stdin.write("still here\n");
    await until(() => third.out.stdout !== "");
    third.child.kill("SIGINT");
    expect(await third.ended).toEqual({
      status: 0,
      stdout: `${OFFLINE_LABEL} You said: still here\n`,
      stderr: "",
    });
    const serving = await home.run("serve", "--port", "0");
    expect([serving.code, serving.out]).toEqual([4, ""]);
    expect(serving.err).toContain("When it has ended, start `rookery serve");
    // Its input is still open: the signal alone must end it.
    first.child.kill("SIGTERM");
    expect((await first.ended).status).toBe(0);
    expect((await send("hi again")).code).toBe(0);
  });
});
