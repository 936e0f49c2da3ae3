import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TOOLS } from "./tools.ts";

const ROOT = join(import.meta.dirname, "..");
const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [join(ROOT, "scripts/tool.ts"), ...args], { encoding: "utf8" });

describe("npm run tool", () => {
  it("starts files that exist", () => {
    expect(Object.values(TOOLS).filter(({ file }) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it("lists every tool without a name", () => {
    const { stdout, status } = run();
    expect(status).toBe(0);
    for (const name of Object.keys(TOOLS)) expect(stdout).toContain(`\n  ${name} `);
  });

  it("passes options and the exit code on", () => {
    expect(run("flaky", "--help")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("npm run tool -- flaky"),
    });
    expect(run("flaky", "--tims", "2").status).toBe(2);
  });

  it("suggests a tool for a name it does not know", () => {
    const { stderr, status } = run("flacky");
    expect(status).toBe(2);
    expect(stderr).toContain('Did you mean "flaky"?');
  });
});
