/**
 * While a writer lives, protected files count as they were when it started, or as the latest reviewed change made them. The tests do with
 * the disk what a command, an editor or a crash could do, at every moment.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { workUntilStopped } from "../../../test/kit/other-work.ts";
import { homePaths } from "../../config/paths.ts";
import { silentLog } from "../../core/ports/log.ts";
import { realDisk } from "../tools/files/disk.ts";
import { previewOf } from "../tools/files/file-changes.ts";
import { readTrusted } from "../tools/files/read-trusted.ts";
import { trustedNote } from "../tools/memory/trusted-note.ts";
import type { FileChanges } from "./changes/file-changes.ts";
import { openFileChanges } from "./changes/open-file-changes.ts";
import { readMemory } from "./read-memory.ts";
import { workspaceReaders } from "./read-workspace-file.ts";
import { cronTaskFiles, heartbeatTaskFiles, readHeartbeatFile } from "./task-files.ts";

const OWNER = { person: "owner", surface: "api" };
const NAMES = [
  "SOUL.md",
  "TOOLS.md",
  "HEARTBEAT.md",
  "MEMORY.md",
  "agents/clerk/SOUL.md",
  "cron",
  "heartbeat",
  "memory",
];

let home: string;
let workspace: string;
let changes: FileChanges;
let now = 0;

const at = (name: string): string => join(workspace, name);
const read = (name: string): string | undefined => (existsSync(at(name)) ? readFileSync(at(name), "utf8") : undefined);
const put = (name: string, text: string): void => {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
};
/** As a process that starts on the same home. */
const reopen = (): void => {
  const paths = homePaths(home);
  changes = openFileChanges({ paths, roots: () => [paths.workspace], now: () => ++now });
};
const begin = (writer = "a"): Promise<void> => changes.guard.begin(writer, NAMES.map(at));
const end = async (writer = "a"): Promise<readonly string[]> => (await changes.guard.end(writer)).aside;
const review = (name: string, text: string | null) => changes.write(`workspace/${name}`, text, { by: OWNER });
/** The text that counts; null: no file does; undefined: what the disk has. */
function trusted(name: string): string | null | undefined {
  const found = changes.guard.of(at(name));
  return found.is === "text" ? found.bytes.toString("utf8") : found.is === "absent" ? null : undefined;
}

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-guard-"));
  workspace = homePaths(home).workspace;
  put("SOUL.md", "kind");
  put("agents/clerk/SOUL.md", "neat");
  put("cron/daily/TASK.md", "look");
  reopen();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe("a file", () => {
  it("is what the disk has if no writer lives", async () => {
    await begin();
    expect(await end()).toEqual([]);
    put("SOUL.md", "mine");
    expect(trusted("SOUL.md")).toBeUndefined();
    expect(readdirSync(join(home, "writers"))).toEqual([]);
  });

  it("counts as it was when the writer started, and is put back with its mode", async () => {
    chmodSync(at("SOUL.md"), 0o640);
    await begin();
    rmSync(at("SOUL.md"));
    put("SOUL.md", "evil");
    expect(trusted("SOUL.md")).toBe("kind");
    expect(await changes.guard.check("a")).toEqual([at("SOUL.md")]);
    expect([read("SOUL.md"), read("SOUL.md.proposed")]).toEqual(["kind", "evil"]);
    expect(statSync(at("SOUL.md")).mode & 0o777).toBe(0o640);
    rmSync(at("SOUL.md"));
    expect([await end(), read("SOUL.md")]).toEqual([[], "kind"]);
  });

  it("that was absent is set aside: a file, a link and a directory", async () => {
    await begin();
    put("TOOLS.md", "evil");
    symlinkSync("notes.txt", at("MEMORY.md"));
    put("heartbeat/TASK.md", "evil");
    expect(["TOOLS.md", "MEMORY.md", "heartbeat/TASK.md"].map(trusted)).toEqual([null, null, null]);
    expect(await end()).toEqual(["TOOLS.md", "MEMORY.md", "heartbeat"].map(at));
    expect([read("TOOLS.md"), read("heartbeat/TASK.md")]).toEqual([undefined, undefined]);
    expect(read("heartbeat.proposed/TASK.md")).toBe("evil");
  });

  it("counts as the latest reviewed change made it, and is put back so", async () => {
    await begin();
    await review("SOUL.md", "calm");
    await review("TOOLS.md", "hammer");
    put("SOUL.md", "evil");
    put("TOOLS.md", "evil");
    expect([trusted("SOUL.md"), trusted("TOOLS.md")]).toEqual(["calm", "hammer"]);
    await review("TOOLS.md", null);
    put("TOOLS.md", "evil again");
    expect(trusted("TOOLS.md")).toBeNull();
    await end();
    expect([read("SOUL.md"), read("TOOLS.md")]).toEqual(["calm", undefined]);
  });

  it("does not count again because the old file is moved back with another content", async () => {
    await begin();
    // An editor keeps the old file beside the new one.
    renameSync(at("SOUL.md"), at("SOUL.md~"));
    put("SOUL.md", "of the owner");
    put("SOUL.md~", "evil");
    renameSync(at("SOUL.md~"), at("SOUL.md"));
    expect(trusted("SOUL.md")).toBe("kind");
    await end();
    expect([read("SOUL.md"), read("SOUL.md.proposed")]).toEqual(["kind", "evil"]);
  });

  it("that is too large to be kept counts while it is the same, and then no more", async () => {
    put("SOUL.md", "x".repeat(2_000_000));
    await begin();
    expect(trusted("SOUL.md")).toBeUndefined();
    put("SOUL.md", "y".repeat(2_000_000));
    expect(trusted("SOUL.md")).toBeNull();
    expect(await end()).toEqual([at("SOUL.md")]);
  });

  it("that is a link stays one, and a file in its place is set aside", async () => {
    symlinkSync("notes.txt", at("TOOLS.md"));
    await begin();
    await begin("b");
    expect([await end("b"), trusted("TOOLS.md")]).toEqual([[], null]);
    rmSync(at("TOOLS.md"));
    put("TOOLS.md", "evil");
    expect(await end()).toEqual([at("TOOLS.md")]);
  });

  it("that is made again and again fills no disk", async () => {
    await begin();
    for (let tries = 0; tries < 30; tries++) {
      put("TOOLS.md", `evil ${tries}`);
      await changes.guard.check("a");
    }
    const aside = readdirSync(workspace).filter((name) => name.startsWith("TOOLS.md"));
    expect(aside).toHaveLength(9);
    expect(read("TOOLS.md.proposed-9")).toBe("evil 29");
  });
});

describe("a directory", () => {
  it("counts as a whole while it is the same one", async () => {
    await begin();
    put("cron/weekly/TASK.md", "of the owner");
    expect([trusted("cron/weekly/TASK.md"), changes.guard.names(at("cron"))]).toEqual([undefined, undefined]);
    expect([await end(), read("cron/weekly/TASK.md")]).toEqual([[], "of the owner"]);
  });

  it("does not count once it was seen elsewhere, also after it was moved back", async () => {
    await begin();
    renameSync(at("cron"), at("old"));
    expect(trusted("cron/daily/TASK.md")).toBeNull();
    put("old/daily/TASK.md", "evil");
    renameSync(at("old"), at("cron"));
    expect([trusted("cron/daily/TASK.md"), changes.guard.names(at("cron"))]).toEqual([null, []]);
    await changes.guard.check("a");
    reopen();
    expect([trusted("cron/daily/TASK.md"), read("cron.proposed/daily/TASK.md")]).toEqual([null, "evil"]);
  });

  it("that was absent has the files of reviewed changes, and nothing else", async () => {
    await begin();
    await review("memory/2026-01-05.md", "tea");
    expect(changes.guard.names(at("memory"))).toEqual(["2026-01-05.md"]);
    expect([await changes.guard.check("a"), read("memory/2026-01-05.md")]).toEqual([[], "tea"]);
    put("memory/2026-01-06.md", "evil");
    expect(trusted("memory/2026-01-06.md")).toBeNull();
    await begin("b");
    expect(await end()).toEqual([at("memory")]);
    put("memory/2026-01-05.md", "evil");
    expect(trusted("memory/2026-01-05.md")).toBe("tea");
    await end("b");
    expect([read("memory/2026-01-05.md"), read("memory/2026-01-06.md")]).toEqual(["tea", undefined]);
  });
});

describe("two writers", () => {
  it("the later one notes what counts, not what the earlier one has put there", async () => {
    await begin("a");
    await review("SOUL.md", "calm");
    put("SOUL.md", "evil");
    put("TOOLS.md", "evil");
    await begin("b");
    expect([trusted("SOUL.md"), trusted("TOOLS.md")]).toEqual(["calm", null]);
    await end("a");
    expect([read("SOUL.md"), read("TOOLS.md")]).toEqual(["calm", undefined]);
    put("SOUL.md", "evil again");
    expect(trusted("SOUL.md")).toBe("calm");
    await end("b");
    expect(read("SOUL.md")).toBe("calm");
  });

  it("the end of the later one leaves the files to the earlier one", async () => {
    await begin("a");
    await begin("b");
    await end("b");
    put("TOOLS.md", "evil");
    expect(trusted("TOOLS.md")).toBeNull();
    expect(await end("a")).toEqual([at("TOOLS.md")]);
  });
});

describe("a crash", () => {
  it("before the end: the next process knows what counts, and puts it right", async () => {
    await begin();
    await review("SOUL.md", "calm");
    put("SOUL.md", "evil");
    put("TOOLS.md", "evil");
    reopen();
    expect([trusted("SOUL.md"), trusted("TOOLS.md"), changes.guard.left()]).toEqual(["calm", null, ["a"]]);
    await end();
    expect([read("SOUL.md"), read("TOOLS.md"), changes.guard.left()]).toEqual(["calm", undefined, []]);
  });

  it("after a file was set aside and before it was put back", async () => {
    await begin();
    renameSync(at("SOUL.md"), at("SOUL.md.proposed"));
    reopen();
    expect(trusted("SOUL.md")).toBe("kind");
    await end();
    expect(read("SOUL.md")).toBe("kind");
  });

  it("is none for a copy of the home elsewhere: it touches no file of the first one", async () => {
    await begin();
    const copy = `${home}-copy`;
    cpSync(home, copy, { recursive: true });
    try {
      const paths = homePaths(copy);
      const { guard } = openFileChanges({ paths, roots: () => [paths.workspace], now: () => 1 });
      expect([guard.left(), guard.of(at("SOUL.md"))]).toEqual([[], { is: "disk" }]);
    } finally {
      rmSync(copy, { recursive: true });
    }
  });

  it("while a lease is written: it is not there, and its writer was not started", async () => {
    await begin();
    writeFileSync(join(home, "writers/b.json"), '{"writer":"b","at":1,"sin');
    reopen();
    expect(changes.guard.left()).toEqual(["a"]);
  });
});

it("a file that cannot be put right stays guarded until it can", async () => {
  await begin();
  renameSync(at("agents"), at("agents2"));
  mkdirSync(at("lair/clerk"), { recursive: true });
  writeFileSync(at("lair/clerk/SOUL.md"), "evil");
  symlinkSync("lair", at("agents"));
  await end();
  expect([trusted("agents/clerk/SOUL.md"), changes.guard.left()]).toEqual(["neat", ["a"]]);
  rmSync(at("agents"));
  await end();
  expect([read("agents/clerk/SOUL.md"), changes.guard.left()]).toEqual(["neat", []]);
});

it("everything that reads such files reads what counts", async () => {
  await review("MEMORY.md", "tea");
  await begin();
  for (const name of ["SOUL.md", "TOOLS.md", "HEARTBEAT.md", "MEMORY.md", "heartbeat/disk.md", "memory/2026-01-05.md"])
    put(name, "evil");
  renameSync(at("cron"), at("cron2"));
  put("cron/evil/TASK.md", "evil");
  const { guard } = changes;
  const prompt = workspaceReaders(() => 0, guard)(workspace);
  const places = { workingDir: workspace };
  const deps = { disk: realDisk, changes, placesOf: () => places };
  const shown = {
    prompt: [prompt("SOUL.md"), prompt("TOOLS.md")],
    heartbeat: [
      await readHeartbeatFile(workspace, guard),
      await heartbeatTaskFiles(workspace, silentLog, undefined, guard),
    ],
    cron: await cronTaskFiles(workspace, undefined, guard),
    memory: [readMemory(workspace, undefined, prompt, guard), readMemory(workspace, "2026-01-05", prompt, guard)],
    notes: [trustedNote(guard, workspace, "MEMORY.md"), trustedNote(guard, workspace, "memory/2026-01-05.md")],
    tools: [
      (await readTrusted(deps, places, "SOUL.md")).text,
      await readTrusted(deps, places, "TOOLS.md").catch(({ message }) => message),
    ],
    review: (await changes.current("workspace/SOUL.md")).text,
    difference: await previewOf(deps, {} as never, "SOUL.md", (before) => `${before}er`),
  };
  expect(JSON.stringify(shown)).not.toContain("evil");
  expect(shown).toMatchObject({
    prompt: ["kind", undefined],
    heartbeat: [undefined, []],
    cron: [],
    memory: [{ text: "tea", names: ["MEMORY.md"] }, undefined],
    notes: ["tea", undefined],
    tools: ["kind", "There is no file TOOLS.md."],
    review: "kind",
  });
});

it("keeps no text of a person who is forgotten", async () => {
  mkdirSync(join(home, "people/ann"), { recursive: true });
  writeFileSync(join(home, "people/ann/USER.md"), "private words");
  await changes.guard.begin("a", [join(home, "people/ann/USER.md"), at("SOUL.md")]);
  await changes.forget("ann");
  const [name = ""] = readdirSync(join(home, "writers"));
  const lease = readFileSync(join(home, "writers", name), "utf8");
  expect(lease).not.toContain(Buffer.from("private words").toString("base64"));
  expect(trusted("SOUL.md")).toBe("kind");
});

describe("a directory that gets prompt files while a writer lives", () => {
  const adopt = (name: string): Promise<void> => changes.guard.adopt(at(name));
  const beginIn = (...names: readonly string[]): Promise<void> =>
    changes.guard.begin(
      "a",
      NAMES.map(at),
      names.map((name) => (name === "" ? workspace : at(name))),
    );

  it("has those that are there then, and no other", async () => {
    await beginIn("");
    put("agents/new/SOUL.md", "made");
    put("agents/new/memory/old.md", "old");
    await adopt("agents/new");
    put("agents/new/SOUL.md", "evil");
    put("agents/new/AGENTS.md", "evil");
    put("agents/new/memory/old.md", "evil");
    put("agents/new/memory/more.md", "evil");
    put("agents/new/notes.md", "plain");
    const names = ["SOUL.md", "AGENTS.md", "memory/old.md", "memory/more.md", "notes.md"].map(
      (one) => `agents/new/${one}`,
    );
    expect(names.map(trusted)).toEqual(["made", null, "old", null, undefined]);
    expect(changes.guard.names(at("agents/new/memory"))).toEqual(["old.md"]);
    expect([...(await changes.guard.check("a"))].sort()).toEqual(
      ["agents/new/AGENTS.md", "agents/new/SOUL.md", "agents/new/memory"].map(at),
    );
    expect(names.map(read)).toEqual(["made", undefined, "old", undefined, "plain"]);
    expect(await end()).toEqual([]);
    put("agents/new/AGENTS.md", "mine");
    expect(trusted("agents/new/AGENTS.md")).toBeUndefined();
  });

  it("is guarded at once, and after a crash", async () => {
    await beginIn("");
    const stored = adopt("agents/new");
    put("agents/new/AGENTS.md", "evil");
    expect(trusted("agents/new/AGENTS.md")).toBeNull();
    await stored;
    reopen();
    expect(trusted("agents/new/AGENTS.md")).toBeNull();
    expect(await end()).toEqual([at("agents/new/AGENTS.md")]);
  });

  it("takes a reviewed change since", async () => {
    await beginIn("");
    put("agents/new/SOUL.md", "made");
    await adopt("agents/new");
    await review("agents/new/SOUL.md", "calm");
    put("agents/new/SOUL.md", "evil");
    expect(trusted("agents/new/SOUL.md")).toBe("calm");
    await end();
    expect(read("agents/new/SOUL.md")).toBe("calm");
  });

  it("counts by the older of two writers as it was for that one", async () => {
    await beginIn("");
    put("agents/new/SOUL.md", "made");
    await adopt("agents/new");
    put("agents/new/SOUL.md", "evil");
    await changes.guard.begin("b", [], [workspace]);
    expect(await end()).toEqual([at("agents/new/SOUL.md")]);
    put("agents/new/SOUL.md", "evil again");
    expect(trusted("agents/new/SOUL.md")).toBe("made");
    await end("b");
    expect(read("agents/new/SOUL.md")).toBe("made");
  });

  it("is known to a writer that starts after it and has not heard of it, also by the path behind a link", async () => {
    put("agents/new/SOUL.md", "made");
    await adopt("agents/new");
    symlinkSync(workspace, join(home, "link"));
    await changes.guard.begin("b", [], [join(home, "link/agents")]);
    put("agents/new/AGENTS.md", "evil");
    expect([trusted("agents/new/SOUL.md"), trusted("agents/new/AGENTS.md")]).toEqual(["made", null]);
  });

  it("is known to a writer whose lease is being stored meanwhile", async () => {
    const started = beginIn("");
    // One turn after the other, until the lease is there.
    for (let turn = 0; turn < 100 && !trustedNow("SOUL.md"); turn++) await Promise.resolve();
    const stored = adopt("agents/new");
    await Promise.all([started, stored]);
    reopen();
    put("agents/new/AGENTS.md", "evil");
    expect(trusted("agents/new/AGENTS.md")).toBeNull();
  });
  const trustedNow = (name: string): boolean => trusted(name) !== undefined;

  it("is what the disk has for a writer that cannot write there", async () => {
    put("agents/newer/x", "");
    await beginIn("agents/newer", "notes");
    await adopt("agents/new");
    put("agents/new/AGENTS.md", "mine");
    expect(trusted("agents/new/AGENTS.md")).toBeUndefined();
  });

  it("of a person that is forgotten is not guarded any more, also for later writers", async () => {
    mkdirSync(join(home, "people/ann"), { recursive: true });
    await changes.guard.begin("a", [], [join(home, "people")]);
    await changes.guard.adopt(join(home, "people/ann"));
    await changes.forget("ann");
    await changes.guard.begin("b", [], [join(home, "people")]);
    expect(changes.guard.of(join(home, "people/ann/AGENTS.md"))).toEqual({ is: "disk" });
  });

  it("leaves a note alone that is too large to be kept, as long as nobody changes it", async () => {
    await beginIn("");
    put("agents/new/memory/large.md", "x".repeat(2 * 1024 * 1024));
    await adopt("agents/new");
    expect(await changes.guard.check("a")).toEqual([]);
    expect(changes.guard.names(at("agents/new/memory"))).toEqual(["large.md"]);
    put("agents/new/memory/small.md", "evil");
    expect(changes.guard.names(at("agents/new/memory"))).toEqual(["large.md"]);
    expect(await changes.guard.check("a")).toEqual([at("agents/new/memory")]);
    expect(existsSync(at("agents/new/memory.proposed/large.md"))).toBe(true);
  });

  it("keeps of very much the stamps only: what is changed does not count", async () => {
    const part = "x".repeat(1024 * 1024);
    for (let nth = 10; nth < 28; nth++) put(`agents/new/memory/${nth}.md`, part);
    await beginIn("");
    await adopt("agents/new");
    const names = [10, 27].map((nth) => `agents/new/memory/${nth}.md`);
    const kinds = Array.from(
      { length: 18 },
      (_none, nth) => changes.guard.of(at(`agents/new/memory/${nth + 10}.md`)).is,
    );
    expect([kinds.filter((kind) => kind === "text").length, kinds.filter((kind) => kind === "disk").length]).toEqual([
      16, 2,
    ]);
    for (const name of names) put(name, "evil");
    expect(names.map((name) => changes.guard.of(at(name)).is).sort()).not.toContain("disk");
  });
});

it("looks for repositories after a command while the process does its other work", async () => {
  const DIRECTORIES = 6_000;
  for (let number = 0; number < DIRECTORIES; number++)
    mkdirSync(at(`many/${number % 40}/${number}`), { recursive: true });
  await changes.guard.begin("a", NAMES.map(at), [workspace], "guarded");
  for (const name of ["objects", "refs"]) mkdirSync(at(`many/7/7/${name}`), { recursive: true });
  put("many/7/7/HEAD", "ref: refs/heads/main");
  put("many/7/7/config", "[core]");
  const other = workUntilStopped();
  expect(await end()).toEqual([at("many/7/7/config")]);
  expect(await other.stop()).toBeGreaterThan(DIRECTORIES / 100);
});
