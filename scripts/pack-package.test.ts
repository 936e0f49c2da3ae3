import { expect, it } from "vitest";
import { nodeProblem } from "../src/core/node-version.ts";
import { packageManifest } from "./pack-package.ts";

it("writes a manifest that can be published and names the oldest Node that runs the package", () => {
  const manifest = packageManifest("9.9.9");
  expect(manifest).toMatchObject({ name: "rookery", version: "9.9.9", engines: { node: ">=24" } });
  expect(manifest).not.toHaveProperty("private");
  expect(nodeProblem("24.0.0")).toBeUndefined();
  expect(nodeProblem("23.99.0")).toBeDefined();
});
