/** Runs before each test file while the coverage is recorded: collects the marks that the file meets. */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect } from "vitest";
import { collectMarks } from "./collect-marks.ts";
import { saveMet } from "./coverage.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const marks = collectMarks();
const began = performance.now();
const directory = process.env.ROOKERY_COVERAGE;
const test = relative(ROOT, expect.getState().testPath ?? "");
/** The processes that this file starts inherit it. */
process.env.ROOKERY_COVERED_TEST = test;

afterAll(() => {
  if (directory === undefined) return;
  saveMet(directory, { test, milliseconds: Math.round(performance.now() - began), pieces: marks() });
});
