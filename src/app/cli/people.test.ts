import { expect, it } from "vitest";
import { cliHome } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const { run, inStore } = cliHome();

it("adds a person, grants, limits, and shows what was done in the audit log", async () => {
  await run("people", "tokens", "add", "first");
  expect((await run("people")).out).toContain("No one is known but the owner.");
  expect((await run("people", "add", "ann", "--name", "Ann Lee", "--account", "telegram:42")).code).toBe(0);
  await run("people", "grant", "ann", "cron_*");
  await run("people", "grant", "ann", "exec", "--ask", "--note", "her laptop");
  await run("people", "grant", "ann", "send(telegram:77)", "--deny");
  const { out } = await run("people", "limits", "ann", "--messages", "50", "--dollars", "2.5");
  expect(out).toContain("limits    50 messages per day, $2.5 per day\n");
  for (const line of [
    "accounts  telegram:42",
    "grants    allow cron_*",
    "ask exec (her laptop)",
    "deny send(telegram:77)",
  ])
    expect(out).toContain(line);
  expect((await run("people", "list")).out).toMatch(/^ann +guest +Ann Lee {2}telegram:42 {2}3 grants\n$/u);
  const { out: rows } = await run("engine", "audit", "--action", "person.grant");
  expect(rows.trim().split("\n")).toHaveLength(3);
  expect(rows).toMatch(/allow {2}owner +person.grant ann {2}on control/u);
  expect(rows).not.toContain("laptop");
});

it("writes tokens to the audit log, and exports all rows as JSON lines", async () => {
  const minted = await run("people", "tokens", "add", "laptop");
  expect(minted.out).toMatch(/^rk_[a-z0-9]{12}_/u);
  const id = minted.out.slice(3, 15);
  expect((await run("people", "tokens", "remove", id)).out).toBe(`Revoked ${id}.\n`);
  const { out } = await run("engine", "audit", "--export", "--since", "1h");
  const rows = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows.map(({ action, target }) => [action, target])).toEqual([
    ["token.revoke", id],
    ["token.mint", `${id} laptop chat`],
  ]);
  expect(out).not.toContain(minted.out.trim().slice(-20));
});

it.each([
  [["people", "grant", "ann", "exec"], "There is no person ann.", "rookery people add", EXIT.failure],
  [["people", "grant", "ann", "exec", "--ask", "--deny"], "A grant has one verdict.", "--ask or --deny"],
  [["people", "set", "ann"], "Nothing is to be changed.", "--name"],
  [["people", "limits", "ann", "--tokens", "1.5"], "--tokens takes a whole number", ""],
  [["people", "invite", "ann"], "An invitation needs the address", "gateway.publicUrl", EXIT.failure],
  [["engine", "audit", "--since", "yesterday"], '"yesterday" is not a time.', "2h"],
  [["engine", "audit", "--limit", "0"], "--limit takes a whole number", ""],
])("%j says what is wrong and what to do", async (argv, message, hint, expected: number = EXIT.usage) => {
  const { code, err } = await run(...argv);
  expect([code, err]).toEqual([expected, expect.stringContaining(message)]);
  expect(err).toContain(hint);
  expect(await inStore((store) => store.people({ limit: 1 }))).toEqual([]);
});
