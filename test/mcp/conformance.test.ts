/** A share of the conformance suite; `npm run conformance` runs all of it. */
import { expect, it } from "vitest";
import { clientConformance, failuresIn, serverConformance } from "./conformance.ts";

it("is passed by the client, with a login", async () => {
  expect(await clientConformance("auth/metadata-default")).toMatch(/Passed: (\d+)\/\1, 0 failed/);
});

it("is passed by the server", async () => {
  expect(await serverConformance("tools-list")).toMatch(/0 failed/);
});

it("counts what fails, without scenarios that do not count", () => {
  const output =
    "=== SUMMARY ===\n✓ a: 1 passed, 0 failed\n✗ b: 0 passed, 1 failed\n✗ c: 1 failed\n\nNot scored:\n  ✗ c (extension)\n";
  expect(failuresIn(output)).toEqual({ ran: 2, failed: ["b"] });
});
