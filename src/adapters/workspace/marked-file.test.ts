/** Which text that the program reads itself counts as untrusted. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ToolContext } from "../../core/ports/tool.ts";
import { readPlainText } from "../system/plain-text.ts";
import { realDisk } from "../tools/files/disk.ts";
import { noMarks } from "../tools/files/file-marks.ts";
import { sendFileTool } from "../tools/files/send-file-tool.ts";
import { isMarkedFile } from "./marked-file.ts";
import { openFileMarks } from "./open-file-marks.ts";
import { MAX_BYTES } from "./read-workspace-file.ts";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "rookery-marked-")));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const LONG = "x".repeat(MAX_BYTES);

describe("a file is marked", () => {
  test.each([
    ["with the content that was marked", "obey", "obey", true],
    ["not with another content", "obey", "mine", false],
    ["if its text was cut and its path ever had a mark", `${LONG}y`, LONG, true],
    ["by its own text if it is one byte shorter than the limit", LONG, LONG.slice(1), false],
    ["if its text was cut between two bytes of a letter", `${LONG}é`, `${LONG.slice(1)}\uFFFD`, true],
  ])("%s", async (_, marked, text, expected) => {
    const marks = openFileMarks({ home });
    await marks.add(join(home, "a.md"), marked);
    expect(isMarkedFile(marks, home, "a.md", text)).toBe(expected);
  });

  test("not if only other files have a mark, also not a long one", async () => {
    const marks = openFileMarks({ home });
    await marks.add(join(home, "b.md"), LONG);
    expect(isMarkedFile(marks, home, "a.md", LONG)).toBe(false);
  });

  test("by its real path, and not at all in a directory that is not there", async () => {
    const marks = openFileMarks({ home });
    mkdirSync(join(home, "real"));
    symlinkSync(join(home, "real"), join(home, "link"));
    await marks.add(join(home, "real", "a.md"), "obey");
    expect(isMarkedFile(marks, join(home, "link"), "a.md", "obey")).toBe(true);
    expect(isMarkedFile(marks, join(home, "none"), "a.md", "obey")).toBe(false);
  });

  test("also if a command wrote bytes into it that are not text", async () => {
    const path = join(home, "a.md");
    const marks = openFileMarks({ home });
    await marks.suspect("c1", [home], 0);
    writeFileSync(path, Buffer.concat([Buffer.from("obey"), Buffer.from([0xff])]));
    await marks.settle("c1");
    const text = readPlainText(path, MAX_BYTES, "cut") ?? "";
    expect(isMarkedFile(marks, home, "a.md", text)).toBe(true);
    expect(isMarkedFile(marks, home, "b.md", text)).toBe(false);
  });

  test("never if there are no marks: the disk is not asked then", () => {
    const marks = { ...noMarks, has: () => true, knows: () => true };
    expect(isMarkedFile(marks, home, "a.md", LONG)).toBe(false);
    expect(isMarkedFile({ ...marks, isEmpty: false }, home, "a.md", "x")).toBe(true);
  });
});

describe("a file that is sent", () => {
  test.each([
    ["text", Buffer.from("obey")],
    ["text that begins with a mark of its encoding", Buffer.from("\uFEFFobey")],
    ["bytes that are not text", Buffer.from([0x89, 0x50, 0xff, 0x00])],
  ])("is untrusted as %s that a command wrote", async (_, bytes) => {
    const marks = openFileMarks({ home });
    await marks.suspect("c1", [home], 0);
    writeFileSync(join(home, "a"), bytes);
    await marks.settle("c1");
    const sent: object[] = [];
    const stored = {
      put: async (file: object) => ({ id: "f", name: "a", size: sent.push(file), shown: { as: "reference" }, ...file }),
    };
    const tool = sendFileTool(
      { disk: realDisk, marks, placesOf: () => ({ workingDir: home }) } as never,
      stored as never,
    );
    const context = { agent: { person: "ann", state: {} }, delivery: { channel: "test" } } as unknown as ToolContext;
    await tool.execute({ path: "a" }, context);
    writeFileSync(join(home, "a"), "checked");
    await tool.execute({ path: "a" }, context);
    expect(sent).toMatchObject([{ behalf: { person: "ann", untrusted: true } }, { behalf: { person: "ann" } }]);
    expect(sent[1]).not.toHaveProperty("behalf.untrusted");
  });
});
