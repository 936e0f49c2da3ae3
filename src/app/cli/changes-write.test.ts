/** `rookery config changes write`: a person's text becomes the file only after its difference was shown and approved, and can be undone. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCommand } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

let home: string;
const at = (name: string): string => join(home, name);
const soul = (): string => readFileSync(at("workspace/SOUL.md"), "utf8");
const write = (...more: readonly string[]) =>
  runCommand(["config", "changes", "write", "workspace/SOUL.md", ...more, "--home", home], { input: "" });

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-write-"));
  mkdirSync(at("workspace"));
  writeFileSync(at("workspace/SOUL.md"), "kind\n");
  writeFileSync(at("workspace/SOUL.md.proposed"), "calm\n");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe("rookery config changes write", () => {
  it("makes a text that was set aside count, keeps the reason, and can be undone", async () => {
    const from = at("workspace/SOUL.md.proposed");
    const { code, out } = await write("--from", from, "--yes", "--why", "I wrote it", "--json");
    expect([code, JSON.parse(out)]).toMatchObject([
      EXIT.ok,
      {
        id: 1,
        file: "workspace/SOUL.md",
        why: "I wrote it",
        by: { person: "owner" },
        diff: expect.stringContaining("+calm"),
      },
    ]);
    expect(soul()).toBe("calm\n");
    expect((await runCommand(["config", "changes", "undo", "1", "--home", home])).code).toBe(EXIT.ok);
    expect(soul()).toBe("kind\n");
  });

  it("says how to undo it, and that nothing changes the second time", async () => {
    const from = at("workspace/SOUL.md.proposed");
    expect((await write("--from", from, "--yes")).out).toMatch(
      /^Changed workspace\/SOUL\.md\. Undo: `rookery config changes undo 1 /u,
    );
    expect((await write("--from", from, "--yes")).out).toBe("workspace/SOUL.md is like that already.\n");
  });

  it("changes nothing without a yes, and shows the difference first", async () => {
    const { code, err } = await write("--from", at("workspace/SOUL.md.proposed"));
    expect([code, soul()]).toEqual([EXIT.usage, "kind\n"]);
    expect(err).toMatch(/-kind\n\+calm[\s\S]*Add --yes\. Nothing was changed\./u);
  });

  it.each([
    ["a file that is missing", () => ["--from", at("none"), "--yes"], /There is no file/],
    ["a directory", () => ["--from", at("workspace"), "--yes"], /There is no file/],
    ["bytes that are no text", () => ["--from", at("bytes"), "--yes"], /is not a text/],
    ["more than a change may have", () => ["--from", at("large"), "--yes"], /more than 8 MiB/],
    ["nothing", () => ["--yes"], /--from is missing/],
  ])("refuses %s", async (_name, more, message) => {
    writeFileSync(at("bytes"), Buffer.from([0xff, 0xfe, 0x00]));
    writeFileSync(at("large"), "x".repeat(8 * 1024 * 1024 + 1));
    const { code, err } = await write(...more());
    expect(code).not.toBe(EXIT.ok);
    expect(err).toMatch(message);
    expect(soul()).toBe("kind\n");
  });

  it("refuses a file whose changes are not kept", async () => {
    const from = at("workspace/SOUL.md.proposed");
    const { err } = await runCommand([
      "config",
      "changes",
      "write",
      "auth.json",
      "--from",
      from,
      "--yes",
      "--home",
      home,
    ]);
    expect(err).toContain("is not a file whose changes are kept");
    expect(existsSync(at("auth.json"))).toBe(false);
  });
});
