/** A share of the conformance suite; `npm run tool -- conformance` runs all of it. */
import { expect, it } from "vitest";
import { clientConformance, differences, outcomeIn, readBaseline, serverConformance } from "./conformance.ts";

/** What may fail. This list only becomes shorter. */
const MAY_FAIL = {
  client: [] as string[],
  server: [] as string[],
  notApplicable: [
    ...["tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal"],
    ...["tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error"],
    ...["tasks-mrtr-composition", "auth/client-credentials-jwt", "auth/client-credentials-basic"],
    ...["auth/enterprise-managed-authorization", "auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer"],
  ],
};

it("is passed by the client, with a login, and by the server, through the gateway", async () => {
  const [client, server] = await Promise.all([
    clientConformance("auth/scope-step-up"),
    serverConformance("input-required-result-multi-round"),
  ]);
  expect(client).toMatch(/Passed: (\d+)\/\1, 0 failed/);
  expect(server).toMatch(/Passed: (\d+)\/\1, 0 failed/);
});

it("has a baseline that only becomes shorter", () => {
  const { failing, notApplicable } = readBaseline();
  for (const part of ["client", "server"] as const)
    expect(failing[part].filter((name) => !MAY_FAIL[part].includes(name))).toEqual([]);
  expect(Object.keys(notApplicable).filter((name) => !MAY_FAIL.notApplicable.includes(name))).toEqual([]);
  expect(Object.values(notApplicable).every((reason) => reason.length > 10)).toBe(true);
});

it("counts what fails, apart from what the version does not require", () => {
  const output =
    "=== SUMMARY ===\n✓ a: 1 passed, 0 failed\n✗ b: 0 passed, 1 failed\n✗ c: 1 failed\n✓ d: 1 passed\n\nNot scored:\n  ✗ c (extension)\n  ✓ d (pending)\n";
  const outcome = outcomeIn(output);
  expect(outcome).toEqual({ ran: 2, failed: ["b"], failedBesides: ["c"] });
  expect(differences(outcome, ["b"], { c: "a reason" })).toEqual([]);
  expect(differences(outcome, ["a"], {})).toEqual([
    "b fails and is not expected to",
    "a passes: remove it from the baseline",
    "c fails and has no reason to",
  ]);
});
