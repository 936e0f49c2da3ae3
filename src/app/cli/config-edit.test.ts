/** The configuration is changed by commands as a change that can be undone; a text that is not valid is refused and kept. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockHome } from "../../adapters/store/sqlite/home-lock.ts";
import { homePaths } from "../../config/paths.ts";
import { changeFile } from "./change-file.ts";
import { runCommand } from "./cli.test-kit.ts";
import { printsDocumentsOf } from "./command-document.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const BEFORE = '{\n  // Mine.\n  log: { level: "info" },\n  models: { default: "offline" },\n}\n';
let home: string;
const at = (name: string): string => join(home, name);
const config = (): string => readFileSync(at("rookery.json5"), "utf8");
const draft = (): string => at("rookery.edit.json5");
/** An editor: a script that changes the file it is given. */
function editor(script: string): Record<string, string> {
  writeFileSync(at("editor.sh"), `#!/bin/sh\n${script}\n`);
  chmodSync(at("editor.sh"), 0o700);
  return { EDITOR: at("editor.sh") };
}
const run = (env: Record<string, string>, ...argv: readonly string[]) => runCommand([...argv, "--home", home], { env });

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-edit-"));
  writeFileSync(at("rookery.json5"), BEFORE, { mode: 0o600 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe("rookery config edit", () => {
  it("puts a valid text in place, which can be undone", async () => {
    const env = editor('sed -i.bak \'s/info/debug/\' "$1"; rm -f "$1.bak"');
    const { code, out, err } = await run(env, "config", "edit", "--json");
    expect([code, err]).toEqual([EXIT.ok, ""]);
    expect(JSON.parse(out)).toMatchObject({ change: 1, draft: null, errors: [], status: 0 });
    expect(config()).toBe(BEFORE.replace("info", "debug"));
    expect(statSync(at("rookery.json5")).mode & 0o777).toBe(0o600);
    expect(existsSync(draft())).toBe(false);
    const listed = JSON.parse((await run({}, "config", "changes", "list", "--json")).out);
    expect(listed.items).toMatchObject([
      { id: 1, kind: "config", by: { person: "owner", surface: "cli" }, why: "edited" },
    ]);
    expect((await run({}, "config", "changes", "undo", "1")).code).toBe(EXIT.ok);
    expect(config()).toBe(BEFORE);
  });

  it("refuses a text with errors, keeps it, and opens it again", async () => {
    const broken = await run(editor('printf \'{ log: { level: "loud" } }\\n\' > "$1"'), "config", "edit");
    expect(broken.code).toBe(EXIT.configuration);
    expect(broken.out).toMatch(/error: .*level/s);
    expect(broken.out).toContain("rookery config edit --again");
    expect(config()).toBe(BEFORE);
    expect(readFileSync(draft(), "utf8")).toBe('{ log: { level: "loud" } }\n');
    expect(statSync(draft()).mode & 0o777).toBe(0o600);
    const again = await run(editor('sed -i.bak \'s/loud/warn/\' "$1"; rm -f "$1.bak"'), "config", "edit", "--again");
    expect([again.code, again.out]).toEqual([EXIT.ok, expect.stringContaining("rookery config changes undo 1")]);
    expect(config()).toBe('{ log: { level: "warn" } }\n');
    expect((await run(editor("true"), "config", "edit", "--again")).err).toContain("No text was refused.");
  });

  it("changes nothing if the editor fails, if nothing was edited, or if the file changed meanwhile", async () => {
    const failed = await run(editor("exit 3"), "config", "edit");
    expect([failed.code, failed.out]).toEqual([EXIT.failure, expect.stringContaining("ended with 3")]);
    const same = await run(editor("true"), "config", "edit");
    expect([same.code, same.out]).toEqual([EXIT.ok, "Nothing was changed.\n"]);
    expect([config(), existsSync(draft())]).toEqual([BEFORE, false]);
    const other = BEFORE.replace("Mine", "Ours");
    const meanwhile = `printf '{ log: { level: "warn" } }' > "$1"; printf '%s' '${other}' > ${at("rookery.json5")}`;
    const late = await run(editor(meanwhile), "config", "edit");
    expect([late.code, late.err]).toEqual([EXIT.failure, expect.stringContaining("has changed since you read it")]);
    expect(config()).toBe(other);
    expect(existsSync(draft())).toBe(true);
    expect((await run({ EDITOR: "/no/such/editor" }, "config", "edit")).err).toContain("cannot be started");
  });

  it("begins with the commented configuration where there is none", async () => {
    rmSync(at("rookery.json5"));
    expect((await run(editor("true"), "config", "edit")).code).toBe(EXIT.ok);
    expect(config()).toContain("//");
  });
});

describe("a change by a command", () => {
  it("of one value is kept and undone; a value that is not valid changes nothing", async () => {
    const { out } = await run({}, "config", "set", "log.level", "debug");
    expect(out).toContain("rookery config changes undo 1");
    expect(config()).toBe(BEFORE.replace('"info"', '"debug"').replace("info", "debug"));
    expect((await run({}, "config", "set", "log.level", "loud")).code).toBe(EXIT.configuration);
    expect(JSON.parse((await run({}, "config", "set", "log.level", "debug", "--json")).out).change).toBeNull();
    expect((await run({}, "config", "changes", "undo", "1")).code).toBe(EXIT.ok);
    expect(config()).toBe(BEFORE);
  });

  it("repairs a configuration that cannot be read as one", async () => {
    writeFileSync(at("rookery.json5"), '{ log: { level: "loud" } }');
    expect((await run({}, "config", "set", "log.level", "warn")).code).toBe(EXIT.ok);
    expect(config()).toBe('{ log: { level: "warn" } }');
  });

  it("says who holds the home, if it does not answer", async () => {
    const lock = lockHome(home);
    try {
      const place = { home, paths: homePaths(home), env: {} };
      const change = { file: "rookery.json5", text: "{}", why: "test" };
      await expect(changeFile(place, change, 0)).rejects.toThrow(/Another process .* uses/);
      expect(config()).toBe(BEFORE);
    } finally {
      lock.release();
    }
  });

  it("sets the model of all agents or of a profile, and refuses one that is not known", async () => {
    writeFileSync(at("rookery.json5"), "{ models: { default: 'offline' }, profiles: { helper: {} } }");
    expect((await run({}, "models", "set", "offline")).out).toContain("rookery models test offline");
    expect(config()).toContain('default: "offline"');
    await run({}, "models", "set", "offline", "--profile", "helper");
    expect(config()).toMatch(/helper: \{\s*model: "offline"/);
    const before = config();
    const unknown = await run({}, "models", "set", "nowhere/none");
    expect([unknown.code, unknown.err]).toEqual([EXIT.usage, expect.stringContaining("nowhere")]);
    const profile = await run({}, "models", "set", "offline", "--profile", "helpr");
    expect(profile.err).toContain('"helper"');
    expect(config()).toBe(before);
  });
});

printsDocumentsOf("config edit");
