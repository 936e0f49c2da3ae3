import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const LIST_MODULES = new URL("../test/kit/list-modules.ts", import.meta.url).href;

const rookery = (...argv: readonly string[]) =>
  spawnSync(process.execPath, ["src/main.ts", ...argv], { encoding: "utf8" });

describe("the rookery command", () => {
  it("passes its output and exit code to the shell", () => {
    expect(rookery("--version")).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: "",
    });
    expect(rookery("nonsense")).toMatchObject({ status: 2, stdout: "" });
  });

  it("does not load the schema library to print its version", () => {
    const { stderr } = spawnSync(process.execPath, ["src/main.ts", "--version"], {
      encoding: "utf8",
      env: { ...process.env, NODE_DEBUG: "esm,module" },
    });
    expect(stderr).not.toMatch(/file:\S*node_modules\/(zod|json5)/);
  });

  it("does not load the model library to answer offline", () => {
    const home = mkdtempSync(join(tmpdir(), "rookery-main-"));
    try {
      writeFileSync(join(home, "rookery.json5"), '{ models: { default: "offline" } }');
      const loaded = join(home, "loaded.txt");
      const argv = ["--import", LIST_MODULES, "src/main.ts", "send", "--home", home];
      const env = { ...process.env, LOADED_MODULES: loaded };
      const { stdout } = spawnSync(process.execPath, argv, { encoding: "utf8", input: "hello", env });
      expect(stdout).toContain("not an LLM");
      const modules = readFileSync(loaded, "utf8");
      expect(modules).toMatch(/node_modules\/zod/);
      expect(modules).not.toMatch(/node_modules\/(@earendil-works|openai|@anthropic-ai|@google)/);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
