import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cliHome } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const home = cliHome();
const { run } = home;
const json = async (...argv: string[]) => JSON.parse((await run(...argv, "--json")).out);

it("stores, lists, shows, writes out and removes a file, of the owner and of another person", async () => {
  const path = join(home.dir, "note.md");
  writeFileSync(path, "# Buy milk\u001b[31m\n");
  const { id } = await json("people", "files", "add", path);
  const other = await json("people", "files", "add", path, "--user", "ann", "--name", "hers.md");
  expect((await run("people", "files")).out).toMatch(
    new RegExp(`^${id}  .* 16 B  text/plain  note\\.md\\n16 B of .* used\\.\\n$`),
  );
  expect((await json("people", "files", "list", "--user", "ann")).items).toMatchObject([
    { id: other.id, name: "hers.md" },
  ]);
  expect((await run("people", "files", "show", id)).out).toContain("models   are shown: text, 16 characters");
  // Safe for a terminal, and exact in a file.
  expect((await run("people", "files", "get", id)).out).toBe("# Buy milk�[31m\n");
  const out = join(home.dir, "copy.md");
  expect((await run("people", "files", "get", id, "--out", out)).code).toBe(EXIT.ok);
  expect([readFileSync(out, "utf8"), statSync(out).mode & 0o777]).toEqual(["# Buy milk\u001b[31m\n", 0o600]);
  expect(await run("people", "files", "get", id, "--out", out)).toMatchObject({
    code: EXIT.usage,
    err: expect.stringMatching(/already exists/),
  });
  expect((await run("people", "files", "remove", id)).out).toBe(`${id} is removed.\n`);
  expect(await run("people", "files", "show", id)).toMatchObject({
    code: EXIT.failure,
    err: expect.stringMatching(/There is no file/),
  });
  expect((await run("people", "files")).out).toMatch(/^No files\.\n0 B of/);
  expect(await run("people", "files", "add", join(home.dir, "none"))).toMatchObject({
    code: EXIT.usage,
    err: expect.stringMatching(/cannot be read/),
  });
});
