/** `rookery skills`, without an engine. With one: `commands-beside.test.ts`; the question in a terminal: `test/e2e/skills.test.ts`. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { validate } from "skills-ref";
import { expect, it } from "vitest";
import { configSchema } from "../../config/config-schema.ts";
import { homePaths } from "../../config/paths.ts";
import { skillsCheck } from "../operations/doctor/checks/skills.ts";
import { examine } from "../operations/doctor/examine.ts";
import { cliHome } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const home = cliHome();
const { run } = home;
const json = async (...argv: string[]) => JSON.parse((await run(...argv, "--json")).out);
const head = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\n\nDo ${name}.\n`;
const write = (path: string, text: string): string => {
  const at = join(home.dir, "sources", path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, text);
  return dirname(at);
};
const installed = (path: string): string => join(home.dir, "skills", path);

it("installs the package's skills, valid by the reference library, and says that they are there", async () => {
  expect((await run("skills")).out).toMatch(/^There are no skills\.\nIn the package: daily-briefing, inbox-triage/);
  for (const name of ["daily-briefing", "inbox-triage", "research-report"]) {
    expect(await run("skills", "install", name, "--yes")).toMatchObject({
      code: EXIT.ok,
      out: expect.stringContaining(`Installed ${name} (`),
    });
    expect(await validate(installed(name))).toEqual([]);
  }
  expect((await run("skills")).out).toMatch(
    /^daily-briefing +installed {2}Writes .*\ninbox-triage.*\nresearch-report.*\n$/,
  );
  expect((await run("skills", "check")).code).toBe(EXIT.ok);
  expect((await run("skills", "show", "inbox-triage")).out).toContain("from: package inbox-triage");
  expect(await json("skills", "update", "--yes")).toMatchObject({
    items: [{ change: null }, { change: null }, { change: null }],
  });
});

it("asks: without a terminal and --yes nothing happens, and the text is shown", async () => {
  const source = write("tea/SKILL.md", `${head("tea")}\u001b[2Jhidden\n`);
  const piped = (...argv: string[]) => run("skills", "install", source, ...argv);
  const refused = await piped("--json");
  expect([refused.code, refused.err]).toEqual([EXIT.usage, expect.stringContaining("needs your yes")]);
  expect(existsSync(installed("tea"))).toBe(false);
  const { err, out } = await piped("--yes");
  expect(err).toContain("New skill tea: Does tea.\n  from directory ");
  expect(err).toContain("+Do tea.");
  expect(err).not.toContain("\u001b");
  expect(out).toMatch(/^Installed tea \([0-9a-f]{16}\)\. New sessions use it\. Undo: `rookery config changes undo 1/);
});

it("shows the difference with an update, and never replaces what was changed by hand without being told", async () => {
  const source = write("tea/SKILL.md", head("tea"));
  await run("skills", "install", source, "--yes");
  expect((await run("skills", "update", "tea", "--yes")).out).toBe("tea is up to date.\n");
  writeFileSync(join(source, "SKILL.md"), `${head("tea")}With milk.\n`);
  write("tea/references/milk.md", "cold\n");
  const updated = await run("skills", "update", "tea", "--yes");
  expect(updated).toMatchObject({ code: EXIT.ok, out: expect.stringContaining("Replaced tea (") });
  expect(updated.err).toContain("+With milk.");
  expect(updated.err).toContain("added references/milk.md, 5 bytes");
  writeFileSync(installed("tea/SKILL.md"), `${head("tea")}With honey.\n`);
  writeFileSync(join(source, "SKILL.md"), `${head("tea")}With lemon.\n`);
  expect((await run("skills")).out).toContain(
    "tea  changed    Does tea.\n  WARNING: its content is not what was installed\n",
  );
  expect((await run("skills", "check")).code).toBe(EXIT.failure);
  const facts = { paths: homePaths(home.dir), env: {}, now: 1, config: configSchema.parse({}) };
  const report = await examine([skillsCheck], facts);
  expect(JSON.stringify(report)).toContain("The skill tea: its content is not what was installed.");
  for (const argv of [
    ["update", "tea", "--yes"],
    ["install", source, "--yes"],
  ])
    expect(await run("skills", ...argv)).toMatchObject({
      code: EXIT.failure,
      err: expect.stringContaining("changed by hand"),
    });
  expect(readFileSync(installed("tea/SKILL.md"), "utf8")).toContain("With honey.");
  const replaced = await json("skills", "update", "tea", "--yes", "--replace");
  expect(readFileSync(installed("tea/SKILL.md"), "utf8")).toContain("With lemon.");
  expect((await run("config", "changes", "undo", String(replaced.items[0].change))).code).toBe(EXIT.ok);
  expect(readFileSync(installed("tea/SKILL.md"), "utf8")).toContain("With honey.");
});

it("updates the others if one source is gone, and says so", async () => {
  const [one, two] = ["one", "two"].map((name) => write(`${name}/SKILL.md`, head(name)));
  for (const source of [one, two]) await run("skills", "install", source ?? "", "--yes");
  rmSync(one ?? "", { recursive: true });
  writeFileSync(join(two ?? "", "SKILL.md"), `${head("two")}More.\n`);
  const { code, out, err } = await run("skills", "update", "--yes");
  expect([code, out]).toEqual([EXIT.failure, expect.stringContaining("Replaced two (")]);
  expect(err).toMatch(/rookery: one: .*\/one does not exist any more\./);
  expect(await run("skills", "update", "one", "--yes")).toMatchObject({ code: EXIT.failure });
});

it("installs from an archive and from a git repository, and remembers the commit", async () => {
  write("many/one/SKILL.md", head("one"));
  const many = dirname(write("many/two/SKILL.md", head("two")));
  const archive = join(home.dir, "many.tar.gz");
  execFileSync("tar", ["-czf", archive, "-C", many, "."]);
  expect(await run("skills", "install", archive, "--yes")).toMatchObject({
    code: EXIT.usage,
    err: expect.stringContaining("There are 2 skills: one, two.\n  Choose one with --skill NAME."),
  });
  expect((await json("skills", "install", archive, "--skill", "one", "--yes")).change).toBe(1);
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", many, "-c", "user.name=a", "-c", "user.email=a@b", ...args], { encoding: "utf8" });
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  const url = `file://${many}`;
  await json("skills", "install", url, "--skill", "two", "--yes");
  const [, two] = (await json("skills", "list")).items;
  expect(two).toMatchObject({
    name: "two",
    source: { kind: "git", at: url, skill: "two", commit: git("rev-parse", "HEAD").trim() },
  });
  writeFileSync(join(many, "two/SKILL.md"), `${head("two")}More.\n`);
  git("commit", "--quiet", "-am", "second");
  const updated = await run("skills", "update", "two", "--yes");
  expect(updated.err).toContain(`commit ${git("rev-parse", "HEAD").slice(0, 12)}`);
  expect(readFileSync(installed("two/SKILL.md"), "utf8")).toContain("More.");
});

it("checks a directory that is not installed, and shows single files", async () => {
  const source = write("tea/SKILL.md", head("tea"));
  write("tea/references/milk.md", "cold\n");
  expect(await run("skills", "check", source)).toMatchObject({ code: EXIT.ok, out: "tea: fine\n" });
  expect(await run("skills", "check", resolve("skills/daily-briefing"))).toMatchObject({ code: EXIT.ok });
  const other = write("coffee/SKILL.md", head("tea"));
  expect(await run("skills", "check", other)).toMatchObject({
    code: EXIT.failure,
    out: expect.stringContaining('WARNING: name is "tea", but the directory is "coffee"'),
  });
  await run("skills", "install", source, "--yes");
  expect((await run("skills", "show", "tea", "--file", "references/milk.md")).out).toBe("cold\n");
  expect(await run("skills", "show", "tea", "--file", "../rookery.json5")).toMatchObject({ code: EXIT.failure });
  expect((await run("config", "completion", "words", "skills", "show", "t")).out).toContain("tea");
});
