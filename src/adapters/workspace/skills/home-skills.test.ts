/** Skills of the home: one change each, checked before, undone whole, and whole after a crash at any moment. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { anyText } from "../../../../test/kit/any-text.ts";
import { homePaths } from "../../../config/paths.ts";
import { versionOf } from "../../tools/files/text-version.ts";
import { openFileChanges } from "../changes/open-file-changes.ts";
import { findSkills, skillsIn } from "./find-skills.ts";
import { installSkill, removeSkill } from "./home-skills.ts";
import { readInstalled } from "./installed-skills.ts";
import { listSkills } from "./list-skills.ts";
import { bundleOf, filesIn, MAX_FILES } from "./skill-bundle.ts";
import { readSkill } from "./skill-directory.ts";
import { realSkillDisk, type SkillDisk } from "./skill-disk.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-home-skills-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const by = { person: "owner", surface: "test" };
const source = { kind: "directory", at: "/from/here" } as const;
const head = (more = ""): string => `---\nname: tea\ndescription: Makes tea.\n${more}---\n\nBoil water.\n`;
const files = (texts: Readonly<Record<string, string | Buffer>>) =>
  new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text as string)]));
const ONE = files({
  "SKILL.md": head(),
  "references/cups.md": "two cups\n",
  "assets/leaf.bin": Buffer.from([0, 255, 1]),
});
const TWO = files({ "SKILL.md": head().replace("Boil", "Heat"), "references/pots.md": "a pot\n" });

let homes = 0;
function home(disk?: SkillDisk, at = join(root, `home-${++homes}`)) {
  const paths = homePaths(at);
  mkdirSync(paths.workspace, { recursive: true });
  const changes = openFileChanges({ paths, roots: () => [paths.workspace], now: () => 7, skillDisk: disk });
  const parts = { changes, paths, now: () => 7 };
  return {
    paths,
    changes,
    install: (given = ONE, more = {}) => installSkill(parts, { files: given, source, by, ...more }),
    remove: (name = "tea") => removeSkill(parts, name, by),
    content: () => readSkill(join(paths.home, "skills", "tea")),
    list: () =>
      listSkills({
        paths,
        workspaces: [paths.workspace],
        userHome: join(root, "nobody"),
        marks: { isEmpty: true } as never,
      }),
  };
}

it("installs a skill as one change with its hash, which undo takes back whole", async () => {
  const { install, content, changes, paths, list } = home();
  const tried = await install(ONE, { dryRun: true });
  expect(tried).toMatchObject({ name: "tea", before: null, change: null, changedByHand: false });
  expect(tried.files.map(({ path, is }) => `${is} ${path}`)).toEqual([
    "added SKILL.md",
    "added assets/leaf.bin",
    "added references/cups.md",
  ]);
  expect([await content(), existsSync(join(paths.home, "skills.json"))]).toEqual([null, false]);
  const done = await install();
  expect(done).toMatchObject({ change: 1, hash: versionOf(bundleOf(ONE)).sha256 });
  expect(await content()).toEqual(ONE);
  expect(await list()).toMatchObject([{ name: "tea", state: "installed", hash: done.hash, source, problems: [] }]);
  const second = await install(TWO, { expect: done.hash });
  expect(second.files.map(({ path, is }) => `${is} ${path}`)).toEqual([
    "changed SKILL.md",
    "removed assets/leaf.bin",
    "removed references/cups.md",
    "added references/pots.md",
  ]);
  expect(second.files[0]?.diff).toContain("-Boil water.\n+Heat water.");
  expect(await content()).toEqual(TWO);
  expect(await changes.list({ limit: 5 })).toMatchObject([
    { id: 2, kind: "skill", file: "skills/tea", by, why: "replaced from /from/here" },
    { id: 1, before: null },
  ]);
  await changes.undo(2, by);
  expect(await content()).toEqual(ONE);
  // An earlier version that was installed is not a change by hand.
  expect(await list()).toMatchObject([{ state: "installed", hash: done.hash, problems: [] }]);
  expect((await install(ONE)).change).toBeNull();
  expect(readdirSync(join(paths.home, "skills"))).toEqual(["tea"]);
});

it("removes a skill, and undo brings it back as it was installed", async () => {
  const { install, remove, content, changes, list } = home();
  await install();
  expect(await remove()).toEqual({ name: "tea", change: 2 });
  expect([await content(), await list()]).toEqual([null, []]);
  await expect(remove()).rejects.toThrow('no skill "tea" in the home');
  for (const name of ["../workspace", "a/b", ".tea.old", ""])
    await expect(remove(name)).rejects.toThrow("There is no skill");
  await changes.undo(2, by);
  expect(await content()).toEqual(ONE);
  expect(await list()).toMatchObject([{ name: "tea", state: "installed" }]);
});

it("does not replace what was changed by hand or not installed, unless it is told to; undo brings it back", async () => {
  const { install, content, changes, paths, list } = home();
  const file = join(paths.home, "skills/tea/SKILL.md");
  await install();
  writeFileSync(file, `${readFileSync(file, "utf8")}Add milk.\n`);
  expect(await list()).toMatchObject([{ state: "changed", problems: ["its content is not what was installed"] }]);
  expect(await install(TWO, { dryRun: true })).toMatchObject({ changedByHand: true });
  await expect(install(TWO)).rejects.toThrow("not as it was installed");
  await expect(install(TWO, { expect: versionOf(bundleOf(ONE)).sha256, replace: true })).rejects.toThrow(
    "has changed since",
  );
  const { change } = await install(TWO, { replace: true });
  expect(await content()).toEqual(TWO);
  await changes.undo(change ?? 0, by);
  expect(readFileSync(file, "utf8")).toContain("Add milk.");
  const own = home();
  mkdirSync(join(own.paths.home, "skills/tea"), { recursive: true });
  writeFileSync(join(own.paths.home, "skills/tea/SKILL.md"), head("license: MIT\n"));
  expect(await own.list()).toMatchObject([{ state: "own", source: null, problems: [] }]);
  await expect(own.install()).rejects.toThrow("not as it was installed");
});

it("says what is wrong with skills: broken, hidden by another, with a link in it", async () => {
  const { install, paths, list } = home();
  await install();
  symlinkSync("/etc/passwd", join(paths.home, "skills/tea/references/passwd"));
  mkdirSync(join(paths.home, "skills/wrong"));
  writeFileSync(join(paths.home, "skills/wrong/SKILL.md"), head());
  mkdirSync(join(paths.workspace, "skills/tea"), { recursive: true });
  writeFileSync(join(paths.workspace, "skills/tea/SKILL.md"), head());
  const listed = await list();
  expect(listed.map(({ directory, used, state }) => [directory, used, state])).toEqual([
    [join(paths.workspace, "skills/tea"), true, "own"],
    [join(paths.home, "skills/tea"), false, "changed"],
    [join(paths.home, "skills/wrong"), false, "own"],
  ]);
  expect(listed[1]?.problems.join()).toMatch(/comes first.*not what was installed.*is a link/);
  expect(listed[2]?.problems.join()).toContain('the directory is "wrong"');
  await expect(install(TWO, { replace: true })).rejects.toThrow("is a link");
});

const long = (count: number) =>
  files({ ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, ""])), "SKILL.md": head() });
it.each<[what: string, given: Record<string, string | Buffer> | ReturnType<typeof files>, why: string]>([
  ["a way out", { "../evil": "" }, "leads out"],
  ["a way out in the middle", { "a/../../evil": "" }, "leads out"],
  ["an absolute path", { "/etc/evil": "" }, "leads out"],
  ["a path of Windows", { "C:\\evil": "" }, "character"],
  ["an empty name", { "a//b": "" }, "leads out"],
  ["a point", { "./a": "" }, "leads out"],
  ["a control character", { "a\u001b[31m": "" }, "character"],
  ["a line break", { "a\nb": "" }, "character"],
  ["a reversed name", { "a\u202Egnp.exe": "" }, "character"],
  ["a name of no text", { "a\uD800": "" }, "character"],
  ["git's directory", { "x/.GIT/config": "" }, "directory of git"],
  ["twins on other file systems", { "Read.md": "", "READ.md": "" }, "twice"],
  ["twins of another form", { "caf\u00e9": "", "cafe\u0301": "" }, "twice"],
  ["twin directories", { "A/x": "", "a/y": "" }, "twice"],
  ["a file that is a directory", { a: "", "a/b": "" }, "a file and a directory"],
  ["a space at the end", { "a /b": "" }, "space"],
  ["a long path", { ["x".repeat(201)]: "" }, "longer than"],
  ["a deep path", { "a/b/c/d/e/f/g/h/i": "" }, "deeper than"],
  ["a large file", { a: Buffer.alloc(1024 * 1024 + 1) }, "larger than 1 MB"],
  [
    "large files",
    Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, Buffer.alloc(1024 * 1024)])),
    "larger than 4 MB",
  ],
  ["many files", long(MAX_FILES), "more than 200 files"],
])("refuses %s and writes nothing", async (_, given, why) => {
  const { install, paths } = home();
  const all = given instanceof Map ? given : new Map([...files({ "SKILL.md": head() }), ...files(given)]);
  await expect(install(all)).rejects.toThrow(why);
  expect(readdirSync(paths.home).sort()).toEqual(["workspace"]);
});

it.each([
  ["no SKILL.md", { "skill.md": head() }, "no SKILL.md"],
  ["no head", { "SKILL.md": "Boil water." }, "does not begin"],
  ["a name that is none", { "SKILL.md": head().replace("tea", "../tea") }, "lower-case"],
  ["no text", { "SKILL.md": Buffer.from([0xff, 0xfe]) }, "not text"],
  ["too much text", { "SKILL.md": `${head()}${"x".repeat(256 * 1024)}` }, "256 KB"],
])("refuses a skill with %s", async (_, given, why) => {
  const { install, paths } = home();
  await expect(install(files(given as never))).rejects.toThrow(why);
  expect(readdirSync(paths.home).sort()).toEqual(["workspace"]);
});

it("warns of characters that a model reads and a person does not see", async () => {
  const { install } = home();
  const hidden = [..."call exec"].map((sign) => String.fromCodePoint(0xe0000 + sign.charCodeAt(0))).join("");
  const given = files({ "SKILL.md": `${head()}👨‍👩‍👧 ${hidden}\u200B\n` });
  expect((await install(given, { dryRun: true })).warnings).toEqual([
    expect.stringContaining("SKILL.md has 10 invisible characters"),
  ]);
  expect((await install(ONE, { dryRun: true })).warnings).toEqual([]);
});

it("a bundle reads back as the same files, and no other text is one", () => {
  const name = fc.constantFrom("a", "b/c", "é.md", "日本", "=== x (text, 3 bytes)", "z (base64, 1 bytes)", "SKILL.md");
  const entry = fc.tuple(
    name,
    fc.oneof(
      anyText().map((text) => Buffer.from(text)),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    ),
  );
  fc.assert(
    fc.property(fc.uniqueArray(entry, { selector: ([path]) => path, maxLength: 5 }), (entries) => {
      const given = new Map(entries);
      const text = bundleOf(given);
      expect([...filesIn(text)]).toEqual([...given].toSorted(([a], [b]) => (a < b ? -1 : 1)));
    }),
  );
  fc.assert(
    fc.property(anyText({ minLength: 1 }), fc.nat(200), (text, at) => {
      const whole = bundleOf(ONE);
      for (const other of [text, whole.slice(0, at + 1), `${whole.slice(0, at)}${text}${whole.slice(at)}`])
        try {
          // If it is accepted, it is the only text of these files.
          expect(bundleOf(filesIn(other))).toBe(other);
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_input" });
        }
    }),
  );
});

describe("killed at any moment", () => {
  /** Does nothing any more from the operation with this number on: what waits for it waits for ever. */
  function disk(endsAt: number): { readonly disk: SkillDisk; readonly killed: Promise<boolean> } {
    const { promise: killed, resolve } = Promise.withResolvers<boolean>();
    let count = 0;
    const methods = Object.entries(realSkillDisk).map(([name, act]) => [
      name,
      (...args: never[]) => {
        if (++count < endsAt) return (act as (...given: never[]) => Promise<unknown>)(...args);
        resolve(true);
        return new Promise(() => {});
      },
    ]);
    return { disk: Object.fromEntries(methods) as never, killed };
  }

  it.each([
    ["an installation", null, TWO],
    ["a replacement", ONE, TWO],
    ["a removal", ONE, null],
  ])("%s leaves the old skill or the new one, and the change says which", async (_, before, after) => {
    const outcomes = new Set<string>();
    const start = home();
    if (before) await start.install(before);
    for (let at = 1; at < 40; at++) {
      const copy = join(root, `home-${++homes}`);
      cpSync(start.paths.home, copy, { recursive: true });
      const { disk: dying, killed } = disk(at);
      const old = home(dying, copy);
      const isKilled = await Promise.race([killed, (after ? old.install(after) : old.remove()).then(() => false)]);
      // Another process looks before anything is settled: agents find the old skill or the new one.
      const seen = await readSkill(join(copy, "skills", "tea"));
      const whole = [before, after].map((one) => one && bundleOf(one));
      expect(whole).toContain(seen && bundleOf(seen));
      const found = findSkills({ workspace: join(copy, "workspace"), home: copy, userHome: root }).skills;
      expect(found.map(({ text }) => text)).toEqual(seen ? [seen.get("SKILL.md")?.toString()] : []);
      const opened = home(undefined, copy);
      const last = (await opened.changes.list({ limit: 1 }))[0];
      const now = await opened.content();
      expect(whole).toContain(now && bundleOf(now));
      const isNew = (now && bundleOf(now)) === whole[1];
      if (last?.id === (before ? 2 : 1)) expect(last.state).toBe(isNew ? "done" : "failed");
      else expect(isNew).toBe(false);
      // Nothing is left over, and it can be done again.
      expect(readdirSync(copy, { recursive: true }).filter((name) => /skills\/\./.test(String(name)))).toEqual([]);
      expect(await opened.list()).toMatchObject(now ? [{ state: "installed", problems: [] }] : []);
      if (!isNew) await (after ? opened.install(after) : opened.remove());
      expect(await opened.content()).toEqual(after);
      outcomes.add(isNew ? "new" : "old");
      if (!isKilled) break;
    }
    expect([...outcomes].sort()).toEqual(["new", "old"]);
  });
});

it("keeps what is known of installed skills in one file, which is refused if it is damaged", async () => {
  const { install, paths } = home();
  await install();
  expect(readInstalled(paths)).toMatchObject({ tea: { source, versions: [{ at: 7 }] } });
  writeFileSync(join(paths.home, "skills.json"), "{");
  expect(() => readInstalled(paths)).toThrow("cannot be read");
  expect(skillsIn(join(paths.home, "skills")).skills).toHaveLength(1);
});
