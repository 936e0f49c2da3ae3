import { describe, expect, test } from "vitest";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import { jobsIn, jobsMirror } from "./mirror-jobs.ts";
import type { MirrorSource } from "./mirror-source.ts";

type Job = { id: string; n: number };

function world(count: number) {
  const jobs = new Map<string, Job>(Array.from({ length: count }, (_, n) => [`j${n}`, { id: `j${n}`, n }]));
  const source = { jobs: () => [...jobs.values()], job: (id: string) => jobs.get(id) } as unknown as MirrorSource;
  const files = new MemoryFiles();
  const wrote: string[] = [];
  const mirror = jobsMirror(source, files, (path) => wrote.push(path));
  const read = () => jobsIn(files, JSON.parse(files.read("cron/jobs.json")?.toString() ?? "{}"));
  return { jobs, files, mirror, read, wrote };
}

/** Sets of a thousand jobs would take seconds to compare. */
const sorted = (jobs: Iterable<unknown>): readonly string[] => [...jobs].map((job) => JSON.stringify(job)).sort();

describe("jobs as plain files", () => {
  test("a few jobs are all written each time", () => {
    const { jobs, files, mirror, read } = world(3);
    mirror.changed(["j1"]);
    expect(JSON.parse(files.read("cron/jobs.json")?.toString() ?? "")).toEqual({
      version: 1,
      jobs: [...jobs.values()],
    });
    jobs.delete("j1");
    mirror.changed(["j1"]);
    expect(read()).toEqual([...jobs.values()]);
  });

  test("with many jobs, a changed or removed job adds a line to the log, and both files together hold all jobs", () => {
    const { jobs, files, mirror, read } = world(1_000);
    mirror.changed(["j1"]);
    const whole = files.read("cron/jobs.json")?.toString();
    jobs.set("j5", { id: "j5", n: -5 });
    jobs.delete("j6");
    jobs.set("new", { id: "new", n: 7 });
    mirror.changed(["j5", "j6", "new"]);
    expect(files.read("cron/jobs.json")?.toString()).toBe(whole);
    expect(sorted(read())).toEqual(sorted(jobs.values()));
  });

  test("a torn line does not damage the lines after it", () => {
    const { jobs, files, mirror, read } = world(1_000);
    mirror.changed(["j1"]);
    files.append("cron/jobs-a.jsonl", '\n{"id":"j2","job":{"id":"j2","n"');
    jobs.set("j3", { id: "j3", n: -3 });
    mirror.changed(["j3"]);
    expect(sorted(read())).toEqual(sorted(jobs.values()));
  });

  test("a long log is folded into jobs.json, and the old log is no longer read", () => {
    const { jobs, files, mirror, read } = world(300);
    mirror.changed(["j1"]);
    const big = "x".repeat(200_000);
    for (let n = 0; n < 12; n++) {
      jobs.set("j1", { id: "j1", n, big } as Job);
      mirror.changed(["j1"]);
    }
    expect(files.read("cron/jobs.json")?.toString()).toContain('"log":"jobs-b.jsonl"');
    expect(sorted(read())).toEqual(sorted(jobs.values()));
  });

  test("up to two hundred are one readable file without a log; one more, and a log is named", () => {
    const few = world(200);
    few.mirror.all();
    expect(few.files.text("cron/jobs.json")).toBe(
      `${JSON.stringify({ version: 1, jobs: [...few.jobs.values()] }, null, 2)}\n`,
    );
    const { calls } = few.files;
    few.mirror.all();
    expect(few.files.calls).toBe(calls);
    const many = world(201);
    many.mirror.all();
    expect(many.files.text("cron/jobs.json")).toContain('{"version":1,"log":"jobs-a.jsonl"');
    expect(many.files.text("cron/jobs-a.jsonl")).toBe("");
  });

  test("rewritten, nothing of earlier jobs stays: the log that is not in use is removed", () => {
    const { jobs, files, mirror, read } = world(300);
    mirror.all();
    jobs.set("j1", { id: "j1", n: 777 });
    mirror.changed(["j1"]);
    jobs.delete("j1");
    mirror.rewrite();
    expect(files.list("cron")).toEqual(["jobs-b.jsonl", "jobs.json"]);
    expect(files.paths().some((path) => files.text(path)?.includes("777"))).toBe(false);
    expect(sorted(read())).toEqual(sorted(jobs.values()));
  });

  test("a log is folded when it is longer than a megabyte and than the file itself", () => {
    const { files, mirror } = world(300);
    mirror.all();
    files.replace("cron/jobs-a.jsonl", "x".repeat(1024 * 1024));
    mirror.changed(["j1"]);
    expect(files.text("cron/jobs.json")).toContain('"log":"jobs-a.jsonl"');
    mirror.changed(["j1"]);
    expect(files.text("cron/jobs.json")).toContain('"log":"jobs-b.jsonl"');
  });

  test("a line without an id or a job is skipped, and a job without an id is kept", () => {
    const { files } = world(0);
    files.makeDir("cron");
    files.replace("cron/jobs-a.jsonl", '{"id":"a"}\n{"job":{}}\nnull\n{"id":"b","job":{"id":"b"}}\n');
    expect(jobsIn(files, { log: "jobs-a.jsonl", jobs: [{ n: 1 }, { n: 2 }] })).toEqual([
      { n: 1 },
      { n: 2 },
      { id: "b" },
    ]);
    expect(jobsIn(files, { log: "../people.json", jobs: "none" })).toEqual([]);
  });

  test("every path that was written waits for a flush, and none that was not", () => {
    const { files, mirror, wrote } = world(300);
    const written = (act: () => void): readonly string[] => {
      wrote.length = 0;
      act();
      return [...wrote];
    };
    const all = [".", "cron", "cron/jobs.json"];
    expect(written(mirror.all)).toEqual(["cron/jobs-a.jsonl", ...all]);
    expect(written(() => mirror.changed(["j1"]))).toEqual(["cron/jobs-a.jsonl"]);
    expect(written(mirror.rewrite)).toEqual(["cron/jobs-b.jsonl", ...all, "cron"]);
    expect(files.list("cron")).toEqual(["jobs-b.jsonl", "jobs.json"]);
    expect(written(mirror.rewrite)).toEqual(["cron/jobs-a.jsonl", ...all, "cron"]);
    const few = world(3);
    few.mirror.all();
    expect(few.wrote).toEqual(all);
    few.wrote.length = 0;
    few.mirror.rewrite();
    expect(few.wrote).toEqual([]);
  });
});
