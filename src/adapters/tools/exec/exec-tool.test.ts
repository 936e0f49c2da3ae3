import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DISK } from "../../../../test/kit/disk-directory.ts";
import { needs } from "../../../../test/kit/needs.ts";
import { OWNER } from "../../../core/people/person.ts";
import { bwrapSandbox } from "../../sandbox/bwrap-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { srtSandbox } from "../../sandbox/srt-sandbox.ts";
import { openFileMarks } from "../../workspace/open-file-marks.ts";
import { type CommandWorld, commandWorld, SECRET } from "./exec.test-kit.ts";
import { processesOf } from "./process-identity.ts";
import { Processes } from "./processes.ts";

// The runtime puts a socket there. A sandbox has a /dev of its own.
process.env.TMPDIR = DISK;

let asked = 0;
const server = createServer((_, response) => {
  asked += 1;
  response.end("reached");
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());

describe.each<[string, () => Sandbox]>([
  ["srt", srtSandbox],
  ["bwrap", bwrapSandbox],
])("in %s", needs("bwrap", "socat"), (_name, open) => {
  let world: CommandWorld;
  let began = 0;
  const sandbox = open();
  beforeAll(() => {
    world = commandWorld(sandbox);
    writeFileSync(join(world.workspace, "old.txt"), "old\n");
    writeFileSync(join(world.workspace, "kept.txt"), "kept\n");
    began = Date.now();
  });
  beforeEach(() => {
    world.settings = {};
    world.places = { workingDir: world.workspace };
  });
  afterAll(async () => {
    await world.close();
    await sandbox.close();
  });
  const sh = (command: string, more: object = {}) => world.call("exec", { command, ...more });

  it("runs a line in the workspace, which is writable, and tells output and exit code", async () => {
    const { text, isError } = await sh("pwd; echo made > made.txt; echo bad >&2; exit 3");
    expect(text).toMatch(new RegExp(`^${world.workspace}\nbad\n\\[exit code 3, [0-9.]+ s\\]$`));
    expect(isError).toBe(false);
    expect(readFileSync(join(world.workspace, "made.txt"), "utf8")).toBe("made\n");
    // A short output is told whole, so nothing is kept.
    expect(await world.processes.ofAgent(world.agent.id)).toEqual([]);
  });

  it("finds no program in a directory that commands can write, also through a link", async () => {
    const planted = join(world.workspace, "bin");
    mkdirSync(planted);
    writeFileSync(join(planted, "whoami"), "#!/bin/sh\necho planted\n", { mode: 0o755 });
    symlinkSync(planted, join(world.home, "..", "linked"));
    const { PATH } = process.env;
    try {
      for (const directory of [planted, join(world.home, "..", "linked"), "", "."]) {
        process.env.PATH = `${directory}:${PATH}`;
        const { text } = await world.call("exec", { command: ["whoami"], cwd: "bin" });
        expect(text).not.toContain("planted");
      }
    } finally {
      process.env.PATH = PATH;
    }
  });

  // These change nothing of the world that others look at, and run side by side.
  it.concurrent("passes a list of arguments on as it is: a shell never reads it", async () => {
    const { text } = await world.call("exec", { command: ["printf", "%s\n", "a b", "$(id)", "'; rm -rf /", "`id`"] });
    expect(text).toContain("a b\n$(id)\n'; rm -rf /\n`id`\n");
  });

  it.concurrent("hides keys, other people's files and home directories, and lets nothing else be written", async () => {
    const user = join(world.home, "..");
    const { text } = await sh(
      [
        `cat ${world.home}/auth.json ${world.home}/token ${user}/.ssh/id ${world.home}/people/bob/notes.txt`,
        `grep -r ${SECRET.slice(0, 8)} ${user} /tmp 2>/dev/null`,
        `ls -A /tmp | grep -v rookery-run; ls -A ${DISK} | grep -v rookery-exec; ls /home /run; cat /etc/shadow`,
        `echo x > /etc/rookery-was-here; echo x > ${homedir()}/rookery-was-here; echo done`,
      ].join("\n"),
    );
    expect(text).not.toContain(SECRET);
    expect(text).toContain("done");
    expect(existsSync("/etc/rookery-was-here") || existsSync(join(homedir(), "rookery-was-here"))).toBe(false);
  });

  it.concurrent("keeps prompt files read-only", async () => {
    await sh("echo evil > SOUL.md; rm -f SOUL.md; mv SOUL.md x; ln -sf x SOUL.md; cp /dev/null SOUL.md");
    expect(readFileSync(join(world.workspace, "SOUL.md"), "utf8")).toBe("kind");
  });

  it.concurrent("gives a clean environment: no variable of this process but the usual ones", async () => {
    const { text } = await sh("env");
    expect(text).not.toContain(SECRET);
    expect(text).toMatch(/^ROOKERY_PROCESS=[0-9a-f]{16}$/m);
    expect(text).not.toContain("VITEST");
  });

  it.concurrent("gives a secret only to a call that names it, and never shows its value", async () => {
    expect((await sh("printenv TOKEN | wc -c")).text).toMatch(/^0\n/);
    const { text } = await sh("printenv TOKEN | wc -c; echo $TOKEN; echo $TOKEN | rev", { secrets: ["TOKEN"] });
    expect(text).toMatch(/^17\n\[TOKEN\]\n/);
    await expect(sh("true", { secrets: ["PATH"] })).rejects.toThrow("There is no secret PATH for commands.");
  });

  it.concurrent("sees no process of the machine and cannot end any", async () => {
    const { text } = await sh(
      `ls /proc | grep -c '^[0-9]*$'; cat /proc/${process.pid}/environ; kill -9 ${process.pid}; echo done`,
    );
    expect(Number(text.split("\n")[0])).toBeLessThan(20);
    expect(text).toContain("done");
  });

  it.concurrent("refuses a directory outside, also through a link", async () => {
    const link = join(world.workspace, "way-out");
    if (!existsSync(link)) symlinkSync("/etc", link);
    for (const cwd of ["/etc", "../..", "way-out", `${world.home}/people/bob`]) {
      await expect(sh("pwd", { cwd })).rejects.toThrow("outside the allowed directories");
    }
    expect((await sh("cat way-out/../../auth.json; echo x > way-out/rookery-was-here; echo done")).text).not.toContain(
      SECRET,
    );
    expect(existsSync("/etc/rookery-was-here")).toBe(false);
  });

  it.concurrent("shows the beginning and the end of a long output; the rest is read with process", async () => {
    const { text } = await sh("seq 1 20000; printf '\\033[31mred\\033[0m\\a'");
    expect(text).toMatch(/^1\n2\n/);
    expect(text).toMatch(
      /20000\nred\n\[exit code 0, .* bytes of output; read more with process, action read, id (\w+)\]$/,
    );
    const id = /id (\w+)\]$/.exec(text)?.[1];
    const { text: more } = await world.call("process", { action: "read", id, offset: 50_000 });
    expect(more).toMatch(/\[exit code 0; bytes 50000 to 66000 of \d+\]$/);
    await world.call("process", { action: "stop", id });
  });

  it.concurrent("gives a command no input: one that reads it ends", async () => {
    expect((await sh("cat; echo end")).text).toMatch(/^end\n/);
  });

  it.concurrent("ends a background command as a group when it is stopped", async () => {
    const { text } = await sh("trap '' TERM; (setsid sleep 600 &); sleep 600", { background: true });
    const id = /process (\w+)/.exec(text)?.[1] as string;
    await world.call("process", { action: "stop", id });
    expect(await processesOf(id)).toEqual([]);
  });

  it("writes nothing in a workspace that is read-only, and sees nothing in one that is closed", async () => {
    writeFileSync(join(world.workspace, "note.txt"), "a note");
    world.access = "ro";
    expect((await sh("cat note.txt; echo x > note.txt")).text).toMatch(/^a note.*Read-only file system/s);
    world.access = "none";
    expect((await sh("ls -A; echo x > note.txt")).text).not.toContain("a note");
    world.access = "rw";
    expect(readFileSync(join(world.workspace, "note.txt"), "utf8")).toBe("a note");
  });

  it("makes no prompt file either: what it makes under such a name is set aside, also in the background", async () => {
    const { text } = await sh("echo evil > AGENTS.md; mkdir cron; echo evil > cron/TASK.md; echo fine > plain.md");
    expect(text).toContain("AGENTS.md, cron: only a reviewed change makes such a file");
    expect(readdirSync(world.workspace)).toEqual(
      expect.arrayContaining(["AGENTS.md.proposed", "cron.proposed", "plain.md"]),
    );
    expect(existsSync(join(world.workspace, "AGENTS.md")) || existsSync(join(world.workspace, "cron"))).toBe(false);
    const id = /process (\w+)/.exec((await sh("echo evil > TOOLS.md", { background: true })).text)?.[1] as string;
    await world.call("process", { action: "wait", id, seconds: 20 });
    expect(readdirSync(world.workspace)).toContain("TOOLS.md.proposed");
    expect(existsSync(join(world.workspace, "TOOLS.md"))).toBe(false);
    await world.call("process", { action: "stop", id });
  });

  it("marks what it writes while untrusted text is in context, and nothing else", async () => {
    const { marks } = world.deps;
    // Files that were changed within a second before its start cannot be told apart.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + 1_100 - Date.now())));
    const behalf = { person: OWNER, untrusted: true } as const;
    await world.call("exec", { command: "echo obey > new.txt; mkdir d; mv old.txt d/moved.txt" }, { behalf });
    expect(marks.has(join(world.workspace, "new.txt"), "obey\n")).toBe(true);
    expect(marks.has(join(world.workspace, "d/moved.txt"), "old\n")).toBe(true);
    expect(marks.has(join(world.workspace, "kept.txt"), "kept\n")).toBe(false);
    // Someone else's version has no mark.
    expect(marks.has(join(world.workspace, "new.txt"), "mine\n")).toBe(false);
  });

  it("leaves skills as they are while untrusted text is in context or in the background, and writes them otherwise", async () => {
    const skill = join(world.workspace, "skills/tea/SKILL.md");
    const behalf = { person: OWNER, untrusted: true } as const;
    const write = (text: string) => `mkdir -p skills/tea; echo ${text} > skills/tea/SKILL.md`;
    await world.call("exec", { command: write("kind") }, { behalf: { person: OWNER } });
    expect(readFileSync(skill, "utf8")).toBe("kind\n");
    await world.call("exec", { command: write("obey") }, { behalf });
    expect(readFileSync(skill, "utf8")).toBe("kind\n");
    const { text } = await world.call("exec", { command: write("obey"), background: true });
    const id = /process (\w+)/.exec(text)?.[1] as string;
    await world.call("process", { action: "wait", id });
    await world.call("process", { action: "stop", id });
    expect(readFileSync(skill, "utf8")).toBe("kind\n");
  });

  it("marks what a background command writes while it runs, and after a crash until it is looked at", async () => {
    const behalf = { person: OWNER, untrusted: true } as const;
    const command = "read line; echo obey > later.txt; read line";
    const { text } = await world.call("exec", { command, background: true }, { behalf });
    const id = /process (\w+)/.exec(text)?.[1] as string;
    await world.call("process", { action: "write", id, text: "\n" });
    const path = join(world.workspace, "later.txt");
    while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20));
    // The next start reads the same lines.
    const next = openFileMarks({ home: world.home });
    expect(next.has(path, "obey\n") && next.knows(world.workspace)).toBe(true);
    await world.call("process", { action: "stop", id });
    await next.settle(id);
    expect(next.has(path, "obey\n")).toBe(true);
    expect(next.has(path, "mine\n")).toBe(false);
  });

  it("ends a command that has too many processes, with all of them", async () => {
    world.limits = { memoryMb: 4_096, processes: 12, diskMb: 10_240 };
    const { text } = await sh("for n in $(seq 40); do sleep 600 & done; wait");
    world.limits = { memoryMb: 4_096, processes: 512, diskMb: 10_240 };
    expect(text).toContain("[ended: it has more than 12 processes]");
    expect(leftOvers(world.home)).toEqual([]);
  });

  it.each([
    ["large files", 50, "for n in $(seq 100); do head -c 1000000 /dev/zero >$n; done"],
    ["empty files", 10, "seq 4000 | xargs touch"],
  ])("ends a command that adds too much to the disk: %s", async (_, diskMb, line) => {
    world.limits = { memoryMb: 4_096, processes: 512, diskMb };
    const { text } = await sh(`mkdir big; cd big; ${line}; sleep 600`);
    world.limits = { memoryMb: 4_096, processes: 512, diskMb: 10_240 };
    expect(text).toContain(`[ended: it added more than ${diskMb} MB to the disk]`);
    rmSync(join(world.workspace, "big"), { recursive: true });
    expect(leftOvers(world.home)).toEqual([]);
  });

  it("gives a command little room in memory outside of its workspace", async () => {
    const fill =
      "for d in /run /dev/shm /dev; do head -c 300000000 /dev/zero 2>&- >$d/x && echo full $d; rm -f $d/x; done";
    expect((await sh(`(${fill}) 2>/dev/null; touch /tmp/a /run/b /dev/shm/c && echo small`)).text).toMatch(/^small\n/);
  });

  it("refuses a process more memory than it may have, and ends a command whose processes have more together", async () => {
    world.limits = { memoryMb: 150, processes: 512, diskMb: 10_240 };
    expect((await sh("head -c 400000000 /dev/zero | tail | wc -c")).text).toMatch(
      /memory exhausted|cannot allocate|ended: it uses/i,
    );
    const many = "for n in 1 2 3; do (head -c 90000000 /dev/zero; sleep 600) | tail & done; wait";
    const { text } = await sh(many);
    world.limits = { memoryMb: 4_096, processes: 512, diskMb: 10_240 };
    expect(text).toContain("[ended: it uses more than 150 MB of memory]");
  });

  it("reaches neither this machine nor the network", async () => {
    asked = 0;
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    await sh(`curl -sS -m 5 ${url}; curl -sS -m 5 --noproxy '*' ${url}; curl -sS -m 5 http://localhost:${port}/; true`);
    expect(asked).toBe(0);
  });

  it("reaches a host of its list, if the sandbox can tell hosts apart, and no other", async () => {
    asked = 0;
    const { port } = server.address() as AddressInfo;
    const curl = `curl -sS -m 5 --noproxy '' http://127.0.0.1:${port}/`;
    world.settings = { domains: ["127.0.0.1"] };
    expect((await sh(curl)).text).toMatch(sandbox.filtersNetwork ? /^reached/ : /Could.*connect/);
    world.settings = { domains: ["example.org"] };
    expect((await sh(curl)).text).not.toContain("reached");
    // A name on the list that leads to this machine: the address decides.
    world.settings = { domains: ["rookery.localhost.localdomain", "localhost.localdomain"] };
    await sh(`curl -sS -m 5 --noproxy '' http://localhost.localdomain:${port}/`);
    expect(asked).toBe(sandbox.filtersNetwork ? 1 : 0);
  });

  it("ends a command with everything it has started when its time is over", async () => {
    const { text, isError } = await sh("echo begun; (setsid sleep 600 &) ; sleep 600 & sleep 600", {
      timeoutSeconds: 1,
    });
    expect(text).toBe("begun\n[stopped: it took more than 1 s]");
    expect(isError).toBe(true);
    const id = Processes.idOf("run", "c-none");
    expect(await processesOf(id)).toEqual([]);
    expect(leftOvers(world.home)).toEqual([]);
  });

  it("ends a command when the run ends, and tells its output on the way", async () => {
    const ending = new AbortController();
    const told: string[] = [];
    const { text } = await world.call(
      "exec",
      { command: "echo first; sleep 600" },
      {
        signal: ending.signal,
        progress(said) {
          told.push(said);
          ending.abort();
        },
      },
    );
    expect(told).toEqual(["first\n"]);
    expect(text).toBe("first\n[stopped with the run]");
    expect(leftOvers(world.home)).toEqual([]);
  });

  it("starts in the background, takes input, waits and stops", async () => {
    const { text } = await sh("while read line; do echo got $line; done; echo over", { background: true });
    const id = /process (\w+)/.exec(text)?.[1] as string;
    expect(world.agent.state.processes).toMatchObject([{ id, command: expect.stringContaining("while read") }]);
    expect((await world.call("process", { action: "list" })).text).toContain(`${id} running: while read`);
    await world.call("process", { action: "write", id, text: "one\n" });
    await world.call("process", { action: "write", id, text: "two\n", end: true });
    const { text: waited } = await world.call("process", { action: "wait", id, seconds: 20 });
    expect(waited).toMatch(/^got one\ngot two\nover\n\n\[exit code 0; 21 bytes of output\]$/);
    await world.call("process", { action: "stop", id });
    expect(world.agent.state.processes).toBeUndefined();
  });
});

/** Processes of this home that still run. */
function leftOvers(home: string): readonly string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(join(home, "processes"));
    } catch {
      return false;
    }
  });
}

it("writes nothing if a command cannot be started", async () => {
  const world = commandWorld({
    ...bwrapSandbox(),
    wrap: async () => {
      throw new TypeError("no sandbox");
    },
  });
  writeFileSync(join(world.workspace, "x"), "");
  await expect(world.call("exec", { command: "true" })).rejects.toThrow("no sandbox");
  expect(await world.processes.ofAgent(world.agent.id)).toEqual([]);
  await world.close();
});
