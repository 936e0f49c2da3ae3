import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

const rookery = (...argv: readonly string[]) =>
  spawnSync(process.execPath, ["src/main.ts", ...argv], { encoding: "utf8" });

describe("the rookery command", () => {
  it("hands its output and exit code to the shell", () => {
    expect(rookery("--version")).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: "",
    });
    expect(rookery("nonsense")).toMatchObject({ status: 2, stdout: "" });
  });

  it("does not load the schema library to say its version", () => {
    const { stderr } = spawnSync(process.execPath, ["src/main.ts", "--version"], {
      encoding: "utf8",
      env: { ...process.env, NODE_DEBUG: "esm,module" },
    });
    expect(stderr).not.toMatch(/node_modules\/(zod|json5)/);
  });
});
