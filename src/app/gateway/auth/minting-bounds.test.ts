import { describe, expect, it } from "vitest";
import { DeniedError } from "../../../core/errors.ts";
import { assertMayMint, lineageOf } from "./minting-bounds.ts";

const NOW = 1_000;
const token = (id: string, createdBy = "root", expiresAt?: number) => ({ id, createdBy, expiresAt });
const many = (count: number, createdBy: string, expiresAt?: number) =>
  Array.from({ length: count }, (_, n) => token(`${createdBy}.${n}`, createdBy, expiresAt));
const chain = (length: number) => Array.from({ length }, (_, n) => token(`c${n}`, n === 0 ? "root" : `c${n - 1}`));

describe("how many tokens a token mints", () => {
  it.each([
    ["49 below it", many(49, "a"), undefined],
    ["50 below it", many(50, "a"), "a"],
    ["50 of which one has just expired", [...many(49, "a"), token("x", "a", NOW)], undefined],
    ["50 of which one expires in a moment", [...many(49, "a"), token("x", "a", NOW + 1)], "a"],
    ["50 below another one", many(50, "b"), undefined],
    ["50 at several depths", [...many(25, "a"), ...many(25, "a.0")], "a"],
  ])("has a bound: %s", (_, below, full) => {
    const mint = () => assertMayMint("a", [token("a"), token("b"), ...below], NOW);
    if (full === undefined) mint();
    else expect(mint).toThrow(new RegExp(`The token ${full} has minted 50 tokens`));
  });

  it("counts for the tokens above it too, and never for the owner's own token", () => {
    const tokens = [token("a"), token("b", "a"), ...many(49, "a")];
    expect(() => assertMayMint("b", tokens, NOW)).toThrow(/The token a has minted/);
    assertMayMint("root", [...tokens, ...many(100, "root")], NOW);
    assertMayMint("a.0", many(200, "root"), NOW);
  });

  it.each([
    [3, true],
    [4, false],
  ])("has a depth: the last of %i in a row may mint: %s", (length, may) => {
    const mint = () => assertMayMint(`c${length - 1}`, chain(length), NOW);
    if (may) mint();
    else expect(mint).toThrow(DeniedError);
  });

  it("ends in a file that contains a circle, or a minter that is gone", () => {
    const byId = new Map([token("a", "b"), token("b", "a"), token("c", "gone")].map((one) => [one.id, one]));
    const ids = (id: string) => lineageOf(id, (one) => byId.get(one)).map((one) => one.id);
    expect([ids("a"), ids("c"), ids("none")]).toEqual([["a", "b"], ["c"], []]);
  });
});
