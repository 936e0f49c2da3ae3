import { describe, expect, test } from "vitest";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import { jobsIn, jobsMirror } from "./mirror-jobs.ts";
import type { MirrorSource } from "./mirror-source.ts";

type Job = { id: string; n: number };

function world(count: number) {
  const jobs = new Map<string, Job>(Array.from({ length: count }, (_, n) => [`j${n}`, { id: `j${n}`, n }]));
  const source = { jobs: () => [...jobs.values()], job: (id: string) => jobs.get(id) } as unknown as MirrorSource;
  const files = new MemoryFiles();
  const mirror = jobsMirror(source, files, () => {});
  const read = () => jobsIn(files, JSON.parse(files.read("cron/jobs.json")?.toString() ?? "{}"));
  return { jobs, files, mirror, read };
}

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
    expect(new Set(read())).toEqual(new Set(jobs.values()));
  });

  test("a torn line does not damage the lines after it", () => {
    const { jobs, files, mirror, read } = world(1_000);
    mirror.changed(["j1"]);
    files.append("cron/jobs-a.jsonl", '\n{"id":"j2","job":{"id":"j2","n"');
    jobs.set("j3", { id: "j3", n: -3 });
    mirror.changed(["j3"]);
    expect(new Set(read())).toEqual(new Set(jobs.values()));
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
    expect(new Set(read())).toEqual(new Set(jobs.values()));
  });
});
