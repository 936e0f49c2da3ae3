import { expect, it } from "vitest";
import { nodeProblem } from "./node-version.ts";

it.each(["24.0.0", "24.21.0", "25.1.0", "100.0.0"])("Node %s can run the program", (version) => {
  expect(nodeProblem(version)).toBeUndefined();
});

it.each(["20.20.2", "22.9.0", "9.0.0"])("Node %s gets one sentence that says what to do", (version) => {
  expect(nodeProblem(version)).toMatch(
    new RegExp(`^Rookery needs Node 24 or newer, and this is Node ${version}: .*\\.$`),
  );
});
