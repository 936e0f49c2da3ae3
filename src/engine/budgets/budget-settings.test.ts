import { describe, expect, it } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { limitedScopes } from "../../core/budget/budget.ts";
import { startOfDay } from "../../core/zoned-time.ts";
import { budgetsOf, dayIn } from "./budget-settings.ts";

const configOf = (text: string) => parseConfig({ text, file: "rookery.json5", env: {} }).config;

describe("the budget settings", () => {
  it("limit what the configuration names", () => {
    const scopes = (text: string) => limitedScopes(budgetsOf(configOf(text)).limitsFor({} as AgentRecord));
    expect(scopes("{}")).toEqual([]);
    expect(scopes("{ budgets: { day: {} } }")).toEqual([]);
    expect(scopes("{ budgets: { day: { tokens: 5 }, profile: { messages: 3 } } }")).toEqual(["profile", "day"]);
  });

  it("use one name for a person with several accounts, and one for the owner", () => {
    const budgets = budgetsOf(
      configOf(`{
        budgets: { person: { dollars: 1 } },
        session: { identityLinks: { ann: ["telegram:1", "whatsapp:2"] } },
        owner: { accounts: ["telegram:7"] },
      }`),
    );
    const named = (connector: string, id: string) => budgets.personNamed?.(connector, id);
    expect([named("telegram", "1"), named("whatsapp", "2")]).toEqual(["ann", "ann"]);
    expect([named("telegram", "7"), named("terminal", "anybody")]).toEqual(["owner", "owner"]);
    expect(named("telegram", "3")).toBe("telegram:3");
  });

  it.each([
    ["2026-03-29T00:30:00Z", "Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z"],
    ["2026-03-29T22:30:00Z", "Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00Z"],
    ["2026-01-01T03:00:00Z", "America/New_York", "2025-12-31", "2025-12-31T05:00:00Z"],
    ["2026-01-01T03:00:00Z", "UTC", "2026-01-01", "2026-01-01T00:00:00Z"],
  ])("begin a day at midnight in the zone of the installation: %s in %s", (at, zone, day, start) => {
    expect(dayIn(Date.parse(at), zone)).toBe(day);
    expect(startOfDay(Date.parse(at), zone)).toBe(Date.parse(start));
  });
});
