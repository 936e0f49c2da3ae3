/** Sources of skills: directories, archives of tar and of attackers, git repositories. Nothing is written, whatever they contain. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import { cloned } from "./clone-source.ts";
import { packagedDirectory, packagedNames } from "./packaged-skills.ts";
import { fetchSkill, sourceOf } from "./skill-source.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-sources-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const head = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\n\nDo ${name}.\n`;
const write = (path: string, text: string | Buffer): string => {
  const at = join(root, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, text);
  return at;
};
const env = { PATH: process.env.PATH, HOME: join(root, "person") };
const deps = { env, packaged: packagedDirectory() };
const fetched = async (written: string, more = {}) => {
  const { files, source } = await fetchSkill(sourceOf(written, more, deps), deps);
  return { texts: Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString()])), source };
};
const TEA = { "SKILL.md": head("tea"), "references/cups.md": "two" };

beforeAll(() => {
  for (const [path, text] of Object.entries(TEA)) write(`tea/${path}`, text);
  write("tea/.git/config", "secret");
  for (const name of ["one", "two"]) write(`many/skills/${name}/SKILL.md`, head(name));
  write("many/README.md", "read me");
});

describe("a directory", () => {
  it("is read without its git directory", async () => {
    const { texts, source } = await fetched(join(root, "tea"));
    expect(texts).toEqual(TEA);
    expect(source).toEqual({ kind: "directory", at: join(root, "tea") });
  });

  it("with several skills needs a name", async () => {
    const at = join(root, "many");
    await expect(fetched(at)).rejects.toThrow("There are 2 skills: one, two.");
    expect((await fetched(at, { skill: "two" })).texts).toEqual({ "SKILL.md": head("two") });
    await expect(fetched(at, { skill: "three" })).rejects.toThrow('no skill "three"');
  });

  it("with a link or a pipe in the skill is refused, elsewhere they do not matter", async () => {
    const at = write("linked/tea/SKILL.md", head("tea"));
    symlinkSync("/etc/passwd", join(root, "linked/elsewhere"));
    expect((await fetched(join(root, "linked"))).texts).toEqual({ "SKILL.md": head("tea") });
    symlinkSync("/etc/passwd", join(dirname(at), "passwd"));
    await expect(fetched(join(root, "linked"))).rejects.toThrow('"tea/passwd" is a link');
    rmSync(join(dirname(at), "passwd"));
    execFileSync("mkfifo", [join(dirname(at), "pipe")]);
    await expect(fetched(join(root, "linked"))).rejects.toThrow("no regular file");
  });

  it("with too much in it, without a skill, or that is not there, is refused", async () => {
    for (let at = 0; at < 5_001; at++) write(`much/${at % 50}/f${at}`, "");
    await expect(fetched(join(root, "much"))).rejects.toThrow("more than 5000");
    await expect(fetched(join(root, "many/skills/one/.."), { skill: "x" })).rejects.toThrow("no skill");
    mkdirSync(join(root, "empty"));
    await expect(fetched(join(root, "empty"))).rejects.toThrow("no SKILL.md was found");
    await expect(fetched(join(root, "nowhere"))).rejects.toThrow("There is no directory, tarball or skill");
    await expect(fetched(join(root, "tea"), { ref: "v1" })).rejects.toThrow("Only a git repository");
  });

  it("of the package is named by its name", async () => {
    expect(packagedNames()).toEqual(["daily-briefing", "inbox-triage", "research-report"]);
    for (const name of packagedNames()) expect((await fetched(name)).source).toEqual({ kind: "package", at: name });
  });
});

interface Raw {
  readonly path: string;
  readonly type?: string;
  readonly content?: string;
  readonly size?: string;
  readonly target?: string;
  readonly prefix?: string;
}

/** A block as an attacker writes it: nothing of it is checked. */
function entry({ path, type = "0", content = "", size, target = "", prefix = "" }: Raw): Buffer {
  const block = Buffer.alloc(512);
  block.write(path, 0, 100);
  block.write("0000644\0", 100);
  block.write(size ?? `${Buffer.byteLength(content).toString(8).padStart(11, "0")}\0`, 124, 12, "latin1");
  block.write(" ".repeat(8), 148);
  block.write(type, 156);
  block.write(target, 157, 100);
  block.write("ustar\x0000", 257, 8, "latin1");
  block.write(prefix, 345, 155);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8, "latin1");
  const body = Buffer.from(content);
  return Buffer.concat([block, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}
const END = Buffer.alloc(1_024);
const SKILL = { path: "tea/SKILL.md", content: head("tea") };
let archives = 0;
const archive = (entries: readonly Raw[], packed = true): string => {
  const whole = Buffer.concat([...entries.map(entry), END]);
  return write(`a${++archives}.tar.gz`, packed ? gzipSync(whole) : whole);
};
const pax = (name: string, value: string): string => {
  const rest = ` ${name}=${value}\n`;
  const length = rest.length + String(rest.length + 2).length;
  return `${length}${rest}`;
};

describe("an archive", () => {
  it("of tar is read: plain or packed, with points, with long names", async () => {
    const long = `references/${"long-".repeat(12)}/${"name-".repeat(8)}.md`;
    write(`long/SKILL.md`, head("long"));
    write(`long/${long}`, "far away");
    for (const [at, args] of [
      ["tea.tar", ["-cf"]],
      ["tea.tar.gz", ["-czf"]],
      ["tea.tgz", ["--format=gnu", "-czf"]],
      ["tea-ustar.tar", ["--format=ustar", "-cf"]],
      ["tea-pax.tar", ["--format=pax", "-cf"]],
    ] as const) {
      execFileSync("tar", [...args, join(root, at), "-C", join(root, "tea"), "--exclude=.git", "."]);
      expect((await fetched(join(root, at))).texts, at).toEqual(TEA);
      execFileSync("tar", [...args, join(root, at), "-C", root, "long"]);
      expect((await fetched(join(root, at))).texts, at).toEqual({ "SKILL.md": head("long"), [long]: "far away" });
    }
  });

  it("of an attacker with records about the whole archive is read without them", async () => {
    const global = { path: "pax_global_header", type: "g", content: pax("path", "../../evil") };
    expect((await fetched(archive([global, SKILL]))).texts).toEqual({ "SKILL.md": head("tea") });
  });

  const link = { path: "tea/link", type: "2", target: "/etc/passwd" };
  it.each<[what: string, entries: readonly Raw[], why: string]>([
    ["a way out", [SKILL, { path: "tea/../../evil" }], "leads out"],
    ["a way out at the top", [{ path: "../evil" }, SKILL], "leads out"],
    ["an absolute path", [SKILL, { path: "/tmp/evil" }], "leads out"],
    ["a way out by a prefix", [SKILL, { path: "evil", prefix: "tea/../.." }], "leads out"],
    ["a way out by a record", [{ path: "pax", type: "x", content: pax("path", "../evil") }, SKILL], "leads out"],
    ["a way out by a long name", [{ path: "././@LongLink", type: "L", content: "../evil\0" }, SKILL], "leads out"],
    ["a way out as a directory", [SKILL, { path: "../evil/", type: "5" }], "leads out"],
    ["a link", [SKILL, link], "is a link"],
    ["a file behind a link", [SKILL, link, { path: "tea/link", content: "evil" }], "twice"],
    ["a link as its SKILL.md", [{ ...link, path: "tea/SKILL.md" }], "no SKILL.md was found"],
    ["a hard link", [SKILL, { path: "tea/hard", type: "1", target: "tea/SKILL.md" }], "no regular file"],
    ["a device", [SKILL, { path: "tea/null", type: "3" }], "no regular file"],
    ["another device", [SKILL, { path: "tea/disk", type: "4" }], "no regular file"],
    ["a pipe", [SKILL, { path: "tea/pipe", type: "6" }], "no regular file"],
    ["an unknown type", [SKILL, { path: "tea/odd", type: "Z" }], "no regular file"],
    ["two entries of a name", [SKILL, { path: "tea/SKILL.md", content: head("evil") }], "twice"],
    ["twins", [SKILL, { path: "tea/Notes.md" }, { path: "tea/NOTES.md" }], "twice"],
    ["a control character", [SKILL, { path: "tea/a\u001b[2J" }], "character"],
    ["a line break", [SKILL, { path: "tea/a\nb" }], "character"],
    ["a negative size", [SKILL, { path: "tea/a", size: "-0000000001\0" }], "wrong number"],
    ["a size that is not there", [SKILL, { path: "tea/a", size: "00077777777\0" }], "ends too early"],
    ["a size without an end", [{ path: "pax", type: "x", content: pax("size", "9e99") }, SKILL], "has no size"],
    ["a record without an end", [{ path: "pax", type: "x", content: "99999 path=x\n" }, SKILL], "not complete"],
    [
      "thousands of entries",
      [...Array.from({ length: 5_001 }, (_, at) => ({ path: `d${at}/`, type: "5" })), SKILL],
      "5000 entries",
    ],
    [
      "too many files",
      [SKILL, ...Array.from({ length: 200 }, (_, at) => ({ path: `tea/f${at}` }))],
      "more than 200 files",
    ],
    ["a large file", [SKILL, { path: "tea/a", content: "x".repeat(1_048_577) }], "larger than 1 MB"],
  ])("with %s is refused", async (_, entries, why) => {
    for (const packed of [true, false]) await expect(fetched(archive(entries, packed))).rejects.toThrow(why);
    await fetched(archive(entries)).catch((error) => expect(error.code).toBe("invalid_input"));
  });

  it("that becomes large when it is unpacked is refused before it is", async () => {
    const bomb = Buffer.concat([
      entry(SKILL),
      entry({ path: "tea/a", size: "17777777777\0" }),
      Buffer.alloc(40 * 1024 * 1024),
    ]);
    const at = write("bomb.tar.gz", gzipSync(bomb));
    await expect(fetched(at)).rejects.toThrow("larger than 32 MB when it is unpacked");
    await expect(fetched(write("large.tar", bomb))).rejects.toThrow("larger than 32 MB");
  });

  it("that is none, is cut or is changed is refused with a reason, never with another error", async () => {
    for (const content of ["", "not an archive", Buffer.from([0x1f, 0x8b, 1, 2, 3]), Buffer.alloc(512, 0x41)])
      await expect(fetched(write("none.tar", content))).rejects.toMatchObject({ code: "invalid_input" });
    const whole = gzipSync(Buffer.concat([entry(SKILL), entry({ path: "tea/notes.md", content: "x" }), END]));
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), fc.boolean(), async (at, byte, isCut) => {
        const changed = isCut ? whole.subarray(0, at) : Buffer.from(whole);
        if (!isCut) changed[at] = byte;
        const { texts } = await fetched(write("changed.tar.gz", changed)).catch((error) => {
          expect(error).toMatchObject({ code: "invalid_input" });
          return { texts: { "SKILL.md": head("tea") } };
        });
        expect(texts).toMatchObject({ "SKILL.md": head("tea") });
      }),
      { numRuns: tries(60) },
    );
  });

  it("writes nothing of it anywhere", () => {
    expect(existsSync(join(root, "evil")) || existsSync(join(root, "..", "evil")) || existsSync("/tmp/evil")).toBe(
      false,
    );
  });
});

describe("a git repository", () => {
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      env: {
        ...env,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_AUTHOR_NAME: "a",
        GIT_AUTHOR_EMAIL: "a@b",
        GIT_COMMITTER_NAME: "a",
        GIT_COMMITTER_EMAIL: "a@b",
      },
    }).trim();
  const bare = join(root, "skills.git");
  const url = `file://${bare}`;
  let first: string;
  afterAll(() => vi.unstubAllEnvs());
  beforeAll(() => {
    const work = join(root, "work");
    vi.stubEnv("TMPDIR", join(root, "temporary"));
    mkdirSync(join(root, "temporary"));
    mkdirSync(join(root, "person"), { recursive: true });
    git("init", "--quiet", "--initial-branch=main", work);
    for (const name of ["one", "two"]) write(`work/${name}/SKILL.md`, head(name));
    // What a checkout would act on.
    write("work/.gitattributes", "*.md filter=evil\n");
    write("work/.gitmodules", `[submodule "x"]\n\tpath = x\n\turl = file://${root}/nowhere\n`);
    git("-C", work, "config", "filter.evil.clean", "cat");
    git("-C", work, "add", ".");
    git("-C", work, "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},x`);
    git("-C", work, "commit", "--quiet", "-m", "first");
    first = git("-C", work, "rev-parse", "HEAD");
    git("-C", work, "tag", "v1");
    symlinkSync("/etc/passwd", join(work, "two/passwd"));
    write("work/one/SKILL.md", head("one").replace("Do one", "Do it"));
    git("-C", work, "add", ".");
    git("-C", work, "commit", "--quiet", "-m", "second");
    git("clone", "--quiet", "--bare", work, bare);
    // The configuration of the person who installs has hooks and filters: none of them runs.
    const evil = `touch ${join(root, "ran")}`;
    const hooks = join(root, "hooks");
    mkdirSync(hooks);
    for (const hook of ["post-checkout", "post-merge", "reference-transaction", "pre-auto-gc"])
      writeFileSync(join(hooks, hook), `#!/bin/sh\n${evil}\n`, { mode: 0o755 });
    write(
      "person/.gitconfig",
      `[core]\n\thooksPath = ${hooks}\n\tfsmonitor = "${evil}"\n[filter "evil"]\n\tsmudge = "${evil}"\n[submodule]\n\trecurse = true\n`,
    );
  });

  it("is fetched at its branch or a tag, with the commit; no hook, filter or submodule of it runs", async () => {
    const { texts, source } = await fetched(url, { skill: "one" });
    expect(texts["SKILL.md"]).toContain("Do it.");
    expect(source).toMatchObject({ kind: "git", at: url, commit: git("-C", bare, "rev-parse", "main") });
    const tagged = await fetched(url, { skill: "one", ref: "v1" });
    expect([tagged.texts["SKILL.md"], tagged.source.commit]).toEqual([head("one"), first]);
    expect(existsSync(join(root, "ran"))).toBe(false);
    await expect(fetched(url)).rejects.toThrow("There are 2 skills: one, two.");
    await expect(fetched(url, { skill: "two" })).rejects.toThrow('"two/passwd" is a link');
    expect(readdirSync(join(root, "temporary"))).toEqual([]);
  });

  it("that is not there, or that answers nothing, is an error in time, and nothing is asked", async () => {
    await expect(fetched(`file://${root}/none.git`)).rejects.toThrow(/cannot be fetched: .*none\.git/);
    await expect(fetched(url, { ref: "v9" })).rejects.toThrow("v9");
    const server = createServer((request, response) => {
      // The first wants a password, the other never answers.
      if (request.url?.startsWith("/private")) response.writeHead(401, { "www-authenticate": "Basic" }).end();
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await expect(fetched(`${at}/private.git`)).rejects.toThrow(
        /cannot be fetched: .*(?:terminal prompts|could not read)/i,
      );
      await expect(cloned({ url: `${at}/silent.git` }, env, async () => 0, 300)).rejects.toThrow("within 0.3 seconds");
    } finally {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    }
  });

  it.each([
    ["https://ann:secret@example.org/x.git", "must not contain a password"],
    ["https://token@example.org/x.git", "must not contain a password"],
    ["https://example.org/x.tar.gz", "not fetched from the web"],
    ["ext::sh -c evil", "There is no directory"],
    ["--upload-pack=evil", "There is no directory"],
  ])("%s is refused", async (written, why) => {
    await expect(fetched(written)).rejects.toThrow(why);
  });

  it("takes no options from a name", async () => {
    await expect(fetched(url, { ref: "--upload-pack=evil" })).rejects.toThrow("not a branch or tag");
    expect(sourceOf("git@example.org:ann/x.git", {}, deps)).toEqual({ kind: "git", at: "git@example.org:ann/x.git" });
  });
});
