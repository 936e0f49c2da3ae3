/** `rookery usage`: by day, agent, person and model, each with a small chart. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

let home: string;
const rookery = (...argv: readonly string[]) => runCommand([...argv, "--home", home], { env: {} });
const usage = async (by: string) => JSON.parse((await rookery("usage", "--by", by, "--json")).out);

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "rookery-usage-"));
  writeFileSync(join(home, "rookery.json5"), '{ models: { default: "offline" } }');
  await rookery("send", "hello");
  await rookery("send", "hello again, with a longer text than before");
  await rookery("send", "--user", "ann", "hi");
  await rookery("send", "hey", "--to", "work");
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("rookery usage", () => {
  it("sums the same tokens by day, agent and person", async () => {
    const [day, agent, person, model] = await Promise.all(["day", "agent", "person", "model"].map(usage));
    const names = (one: { items: { name: string }[] }) => one.items.map(({ name }) => name);
    const sum = (one: { items: { tokens: number }[] }) => one.items.reduce((all, { tokens }) => all + tokens, 0);
    expect(sum(day)).toBe(day.total.tokens);
    expect(day.total.tokens).toBeGreaterThan(0);
    expect([sum(agent), sum(person)]).toEqual([sum(day), sum(day)]);
    expect(names(day)).toContainEqual(expect.stringMatching(/^\d{4}-\d\d-\d\d$/));
    expect(names(agent)).toEqual(["main", "work"]);
    // Both accounts of the terminal are the owner's.
    expect(names(person)).toEqual(["owner"]);
    expect(names(model)).toEqual([expect.stringContaining("offline")]);
  });

  it("draws a bar for each, the longest for the most", async () => {
    for (const by of ["day", "agent", "person", "model"]) {
      const { out, code } = await rookery("usage", "--by", by);
      expect(code).toBe(EXIT.ok);
      expect(out).toMatch(new RegExp(`^${by} +tokens +cost`));
      expect(out).toContain("█".repeat(30));
      expect(out).toMatch(/Total of 14 days: \d+ tokens/);
    }
    const { out } = await rookery("usage", "--by", "person");
    const bars = out
      .split("\n")
      .flatMap((one) => (/[█▏▎▍▌▋▊▉]/u.test(one) ? [one.replaceAll(/[^█]/gu, "").length] : []));
    expect(bars).toEqual(bars.toSorted((a, b) => b - a));
    expect((await rookery("usage", "--by", "moon")).code).toBe(EXIT.usage);
  });
});
