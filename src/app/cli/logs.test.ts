/** `rookery engine logs`: filters, and following a file that grows and is rotated. */
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCommand } from "./cli.test-kit.ts";
import { type LogLine, readLog } from "./read-log.ts";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));
let home: string;
const file = (): string => join(home, "logs", "rookery.log");
const line = (level: string, message: string, more: object = {}): string =>
  `${JSON.stringify({ at: "2026-01-22T10:00:00.000Z", level, message, ...more })}\n`;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-logs-"));
  mkdirSync(join(home, "logs"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe("rookery engine logs", () => {
  it("filters by level, agent and run, and shows the latest of both files", async () => {
    writeFileSync(`${file()}.1`, line("error", "older"));
    writeFileSync(
      file(),
      [
        line("debug", "quiet"),
        line("info", "of a", { agentId: "agent-a", runId: "run-1" }),
        line("warn", "of b", { agentId: "agent-b", runId: "run-2" }),
        "{ torn",
        line("error", "last"),
      ].join(""),
    );
    const messages = async (...argv: readonly string[]): Promise<readonly string[]> =>
      JSON.parse((await runCommand(["engine", "logs", "--json", "--home", home, ...argv])).out).items.map(
        ({ message }: LogLine) => message,
      );
    expect(await messages()).toEqual(["older", "quiet", "of a", "of b"]);
    appendFileSync(file(), line("error", "last"));
    expect(await messages("--level", "warn")).toEqual(["older", "of b", "last"]);
    expect(await messages("--agent", "agent-a")).toEqual(["of a"]);
    expect(await messages("--run", "run-2")).toEqual(["of b"]);
    expect(await messages("--limit", "2")).toEqual(["of b", "last"]);
    expect((await runCommand(["engine", "logs", "--level", "loud", "--home", home])).err).toContain("is not a level");
  });

  it("follows: no line is cut, left out or shown twice, also when the file is rotated", async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    let arrived = Promise.withResolvers<void>();
    const onLine = ({ message = "" }: LogLine): void => {
      seen.push(message);
      arrived.resolve();
      arrived = Promise.withResolvers<void>();
    };
    const until = async (count: number): Promise<void> => {
      while (seen.length < count) await arrived.promise;
    };
    const wants = ({ level }: LogLine): boolean => level === "warn";
    const following = readLog(file(), { limit: 10, wants }, { signal: stop.signal, onLine });
    writeFileSync(file(), line("warn", "one") + line("info", "not this"));
    await until(1);
    const long = line("warn", `twö ${"ö".repeat(200_000)}`);
    const bytes = Buffer.from(long);
    appendFileSync(file(), bytes.subarray(0, 4_097));
    appendFileSync(file(), bytes.subarray(4_097));
    await until(2);
    appendFileSync(file(), line("warn", "before the rotation"));
    renameSync(file(), `${file()}.1`);
    writeFileSync(file(), line("warn", "after the rotation"));
    await until(4);
    stop.abort();
    await following;
    expect(seen).toEqual(["one", `twö ${"ö".repeat(200_000)}`, "before the rotation", "after the rotation"]);
  });

  it("--follow with filters prints each new line at once, and ends with success when it is stopped", async () => {
    writeFileSync(file(), line("warn", "first", { agentId: "a" }) + line("info", "no", { agentId: "a" }));
    const args = [MAIN, "engine", "logs", "--follow", "--level", "warn", "--agent", "a", "--json", "--home", home];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    try {
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const next = async (): Promise<string> => JSON.parse(String((await lines.next()).value)).message;
      expect(await next()).toBe("first");
      appendFileSync(
        file(),
        line("warn", "no", { agentId: "b" }) +
          line("debug", "no", { agentId: "a" }) +
          line("error", "new", { agentId: "a" }),
      );
      expect(await next()).toBe("new");
    } finally {
      child.kill("SIGTERM");
    }
    expect(await ended).toBe(0);
  });
});
