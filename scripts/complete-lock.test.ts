import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { completePackages, platformEntry } from "./complete-lock.ts";

test("the name of a platform's package determines its cpu, os and libc", () => {
  expect(platformEntry("@x/cli-linux-arm64-musl", "1.0.0", true)).toEqual({
    version: "1.0.0",
    cpu: ["arm64"],
    dev: true,
    libc: ["musl"],
    optional: true,
    os: ["linux"],
  });
  expect(platformEntry("@x/binding-wasm32-wasi", "1.0.0", false)).toEqual({
    version: "1.0.0",
    cpu: ["wasm32"],
    optional: true,
  });
});

test("the lock file lists every optional package, so that a clean install works", () => {
  const lock = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"));
  expect(Object.keys(completePackages(lock.packages))).toEqual(Object.keys(lock.packages));
});
