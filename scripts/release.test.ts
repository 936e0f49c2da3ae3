/** A release is complete, and this version opens the homes of every released version and continues their work. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand } from "../src/app/cli/cli.test-kit.ts";
import { FIXTURES, nextVersion, releasedChangelog } from "./release.ts";

describe("a release", () => {
  it("has a version and its part of the changelog", () => {
    expect(nextVersion("0.1.9")).toBe("0.1.10");
    const text = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 1.0.0\n\n- Old.\n";
    const released = "# Changelog\n\n## Unreleased\n\n## 1.0.1 (2026-01-01)\n\n- New.\n\n## 1.0.0\n\n- Old.\n";
    expect(releasedChangelog(text, "1.0.1", "2026-01-01")).toBe(released);
    expect(releasedChangelog(released, "1.0.1", "2026-01-02")).toBe(released);
    expect(releasedChangelog(text, "1.0", "2026-01-02")).toContain("## 1.0 (2026-01-02)");
    expect(() => releasedChangelog("# Changelog\n\n## Unreleased\n\n## 1.0.0\n\n- x\n", "1.0.1", "")).toThrow(
      "nothing",
    );
  });

  it("has a part of the changelog for the version of the package", () => {
    const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
    const { version } = JSON.parse(read("package.json")) as { version: string };
    expect(read("CHANGELOG.md")).toMatch(new RegExp(`^## ${version.replaceAll(".", "[.]")}(?: |$)`, "m"));
  });
});

describe("a home of an earlier version", () => {
  const fixtures = readdirSync(FIXTURES).filter((name) => name.endsWith(".tar.gz"));
  it("is there", () => expect(fixtures.length).toBeGreaterThan(0));

  it.each(fixtures)("%s opens, has its history, and answers", async (name) => {
    const home = join(mkdtempSync(join(tmpdir(), "rookery-fixture-")), "home");
    const run = (...argv: readonly string[]) => runCommand([...argv, "--home", home, "--json"]);
    try {
      expect((await run("backup", "restore", join(FIXTURES, name))).code).toBe(0);
      const { items } = JSON.parse((await run("sessions", "show", "main")).out) as { items: unknown[] };
      expect(JSON.stringify(items)).toContain("buy milk");
      expect((await run("schedules", "list")).out).toContain("time for tea");
      expect((await run("people", "show", "ann")).out).toContain("telegram:42");
      const answered = await run("send", "read notes.txt");
      expect(answered).toMatchObject({ code: 0 });
      expect(answered.out).toContain("buy milk");
    } finally {
      rmSync(join(home, ".."), { recursive: true, force: true });
    }
  });
});
