import { describe, expect, it } from "vitest";
import type { EngineApi } from "../client/engine-api.ts";
import { cliHome } from "./cli.test-kit.ts";
import { readStatusParts } from "./status-parts.ts";

const home = cliHome();

describe("rookery status", () => {
  it("shows the next schedules and what failed in a day", async () => {
    await home.run("cron", "add", "--name", "tea", "--every", "30m", "--message", "tea");
    const { out, code } = await home.run("status");
    expect(code).toBe(0);
    expect(out).toContain("Failed    nothing today");
    expect(out).toMatch(/^Next {6}in (?:29|30) min: tea$/m);
    const facts = JSON.parse((await home.run("status", "--json")).out);
    expect(facts).toMatchObject({ isRunning: false, failed: 0, schedules: [{ name: "tea", at: expect.any(Number) }] });
  });

  it("counts failures of the last day, and leaves out a part that cannot be read", async () => {
    const now = 1_800_000_000_000;
    const get = async (path: string) => {
      if (path === "/api/cron") throw new Error("away");
      return { items: [{ settledAt: now - 1_000 }, { settledAt: now - 48 * 3_600_000 }] };
    };
    const { facts, lines } = await readStatusParts({ get } as unknown as EngineApi, now);
    expect(facts).toEqual({ failed: 1, schedules: null });
    expect(lines).toEqual([expect.stringContaining("1 messages in a day")]);
  });
});
