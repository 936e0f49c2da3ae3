/** `rookery skills install` in a real terminal: it shows the skill and asks; no is no, yes is yes. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-skills-e2e-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it("shows the skill and asks before it is installed", async () => {
  const [home, source] = [join(root, "home"), join(root, "tea")];
  mkdirSync(source);
  writeFileSync(join(source, "SKILL.md"), "---\nname: tea\ndescription: Makes tea.\n---\n\nBoil water.\n");
  for (const [keys, end] of [
    [KEYS.enter, "tea was not changed."],
    [`${KEYS.down}${KEYS.enter}`, "Installed tea ("],
  ] as const) {
    const args = [MAIN, "skills", "install", source, "--home", home];
    const terminal = new TestTerminal({ args, rows: 40, env: { HOME: root } });
    try {
      const shown = await terminal.until("Install tea?");
      expect(shown).toContain("New skill tea: Makes tea.");
      expect(shown).toContain("+Boil water.");
      expect(existsSync(join(home, "skills"))).toBe(false);
      terminal.type(keys);
      await terminal.until(end);
      expect(await terminal.exited).toBe(0);
    } finally {
      await terminal.close();
    }
  }
  expect(existsSync(join(home, "skills", "tea", "SKILL.md"))).toBe(true);
});
