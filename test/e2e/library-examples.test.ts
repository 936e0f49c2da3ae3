/** Runs each example of the library in this process, offline, and compares what it prints. */
import { afterEach, expect, it, vi } from "vitest";
import { freshDatabase } from "../postgres/shared.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

async function printed(load: () => Promise<unknown>): Promise<string> {
  let text = "";
  vi.spyOn(console, "log").mockImplementation((...parts: unknown[]) => {
    text += `${parts.join(" ")}\n`;
  });
  vi.spyOn(process.stdout, "write").mockImplementation((piece) => {
    text += String(piece);
    return true;
  });
  await load();
  vi.restoreAllMocks();
  return text;
}

it("examples/chat.ts asks and streams", async () => {
  const text = await printed(() => import("../../examples/chat.ts"));
  expect(text).toContain("You said: What is the weather in Rome?");
  expect(text).toContain("You said: And tomorrow?");
});

it("examples/crash-test.ts proves a tool against every crash", async () => {
  const text = await printed(() => import("../../examples/crash-test.ts"));
  expect(text).toMatch(
    /^\d\d crashes, [1-9]\d* repeated calls\nno payment was made twice, every message was answered once\n$/,
  );
});

it("examples/connector.ts answers a message of its channel", async () => {
  expect(await printed(() => import("../../examples/connector.ts"))).toBe("Sunny in Rome.\n");
});

it("examples/mailbox.ts hears its agent and acknowledges", async () => {
  expect(await printed(() => import("../../examples/mailbox.ts"))).toBe("to ann: The report is ready.\n0 left\n");
});

it("examples/nightly.ts runs its job and shows the report", async () => {
  const text = await printed(() => import("../../examples/nightly.ts"));
  expect(text).toContain("1 run, and the agent said:\n12 new orders, nothing is stuck.");
});

it("examples/thousand.ts answers each user by its own agent", async () => {
  vi.stubEnv("COUNT", "50");
  expect(await printed(() => import("../../examples/thousand.ts"))).toBe("50 of 50 agents answered their own user\n");
});

it("examples/two-nodes.ts accepts a message once at two engines", async () => {
  vi.stubEnv("STORE", await freshDatabase());
  expect(await printed(() => import("../../examples/two-nodes.ts"))).toBe("accepted once\nhello\n");
});
