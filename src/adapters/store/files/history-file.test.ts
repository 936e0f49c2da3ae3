/** How a history file is brought to an end that the database has, and how much of it is compared for that. */
import { describe, expect, test } from "vitest";
import { entryId } from "../../../core/ids.ts";
import { appendHistory, settleHistory } from "./history-file.ts";
import { Crash, type Fault, MemoryFiles } from "./memory-files.test-kit.ts";
import type { MirrorNotice } from "./mirror-notice.ts";

const PATH = "history.jsonl";
const KB = 1024;
const uuid = (n: number): string => `00000000-0000-7000-8000-${n.toString(16).padStart(12, "0")}`;
/** Lines of 256 bytes each, with the line end. */
const lineAt = (position: number, what = "line"): string => {
  const line = JSON.stringify({ type: "someday", id: entryId(position, uuid(position)), what, pad: "" });
  return `${line.slice(0, -2)}${"x".repeat(255 - line.length)}"}`;
};

/** A database with some lines, a file with the same lines, and what was read of it. */
function world(count: number) {
  const lines = Array.from({ length: count }, (_none, position) => lineAt(position));
  const notices: MirrorNotice[] = [];
  const reads: { from: number; limit: number }[] = [];
  const source: Parameters<typeof settleHistory>[0]["source"] = {
    lines: (_no, from, limit) => {
      reads.push({ from, limit });
      return lines.slice(from, from + limit).map((line, index) => ({ pos: from + index, line }));
    },
  };
  let bytes = 0;
  const files = new (class extends MemoryFiles {
    override readAt(path: string, offset: number, length: number): Buffer {
      const read = super.readAt(path, offset, length);
      bytes += read.length;
      return read;
    }
  })();
  const write = (some: readonly string[]): void => files.put(PATH, some.map((line) => `${line}\n`).join(""));
  write(lines);
  const settle = (closely: boolean) => {
    bytes = 0;
    return settleHistory({ files, source, report: (notice) => notices.push(notice), last: 7, closely }, PATH, 1);
  };
  /** Another line of the same length in the place of one. */
  const damage = (position: number): void =>
    write(lines.map((line, index) => (index === position ? lineAt(index, "evil") : line)));
  return { lines, files, notices, reads, source, write, settle, damage, read: () => bytes };
}

describe("the end of a history", () => {
  test("that the database has is where the next line goes", () => {
    const { settle, notices, reads } = world(40);
    expect(settle(false)).toEqual({ nextPos: 40, size: 40 * 256 });
    expect(settle(true)).toEqual({ nextPos: 40, size: 40 * 256 });
    expect(notices).toEqual([]);
    // The database is asked for the compared lines only.
    expect(reads).toEqual([
      { from: 25, limit: 15 },
      { from: 0, limit: 40 },
    ]);
  });

  test("that says no position is right all the same if every line is", () => {
    const { settle, write, lines, files, notices } = world(40);
    lines.push('{"type":"someday"}');
    write(lines);
    expect(settle(false)).toEqual({ nextPos: 41, size: files.size(PATH) });
    expect([notices, files.paths()]).toEqual([[], [PATH]]);
  });

  test.each<Fault>(["before", "after", "torn"])("loses no line when the process dies %s any call", (how) => {
    for (let call = 1; call <= 4; call++) {
      const { settle, write, lines, files } = world(4);
      write([...lines.slice(0, 2), '{"orphaned":1}']);
      files.append(PATH, '{"torn');
      files.fault = { call: files.calls + call, how };
      expect(() => settle(true), `call ${call}`).toThrow(Crash);
      files.fault = undefined;
      const everything = (): string =>
        files
          .paths()
          .map((path) => files.text(path))
          .join("");
      for (const text of ['{"orphaned":1}', '{"torn']) expect(everything(), `call ${call}`).toContain(text);
      expect(settle(true)).toEqual({ nextPos: 2, size: 512 });
      expect(everything()).toContain('{"orphaned":1}');
    }
  });

  test("of no file, and of an empty one, is its beginning", () => {
    const { files, settle, write } = world(3);
    write([]);
    expect(settle(false)).toEqual({ nextPos: 0, size: 0 });
    files.remove(PATH);
    expect(settle(false)).toEqual({ nextPos: 0, size: 0 });
  });

  test.each([
    ["after a clean stop", false, 6_000, 4 * KB, 15],
    ["after any other", true, 6_000, 1024 * KB, 4_095],
  ])("is compared %s over a bounded number of bytes", (_when, closely, count, window, compared) => {
    const { settle, damage, files, notices, lines, read } = world(count);
    expect(settle(closely)).toEqual({ nextPos: count, size: count * 256 });
    // How the file begins, the portion in which the last line end is looked for, and the window itself.
    expect(read()).toBeLessThanOrEqual(KB + 1024 * KB + window);
    damage(count - compared);
    expect(settle(closely)).toEqual({ nextPos: count - compared, size: (count - compared) * 256 });
    expect(notices).toMatchObject([{ kind: "orphaned-lines", line: count - compared + 1, bytes: compared * 256 }]);
    expect(files.size(PATH)).toBe((count - compared) * 256);
    // What lies further back is only found by a closer look.
    damage(count - 2 * compared);
    if (2 * compared < lines.length) expect(settle(closely)).toEqual({ nextPos: count, size: count * 256 });
  });

  test("is found again although the database went on, and although it is not its last line", () => {
    const { settle, write, lines, notices } = world(100);
    write(lines.slice(0, 60));
    expect(settle(false)).toEqual({ nextPos: 60, size: 60 * 256 });
    expect(notices).toEqual([]);
  });

  test("without an id, or with one that says no position, is compared from the beginning", () => {
    for (const strange of ["null", "{}", '{"id":5}', '{"id":"elsewhere"}', "{"]) {
      const { settle, write, lines, files, notices } = world(100);
      write([...lines.slice(0, 50), strange]);
      expect(settle(false), strange).toEqual({ nextPos: 50, size: 50 * 256 });
      expect(files.text(`${PATH}.orphaned-7`)).toBe(`${strange}\n`);
      expect(notices).toMatchObject([{ line: 51, aside: `${PATH}.orphaned-7` }]);
    }
  });

  test("that claims a position before its own line is not believed", () => {
    const { settle, write, lines, notices } = world(100);
    write([...lines.slice(0, 50), lineAt(3)]);
    expect(settle(false)).toEqual({ nextPos: 50, size: 50 * 256 });
    expect(notices).toHaveLength(1);
  });

  test("that differs far from the beginning is compared in portions, and only its rest goes aside", () => {
    for (const position of [0, 1, 499, 500, 501, 999, 1_000, 1_199]) {
      const { settle, damage, lines, files, notices, reads } = world(1_200);
      damage(position);
      files.put(PATH, `${files.text(PATH)}{}\n`);
      expect(settle(true)).toEqual({ nextPos: position, size: position * 256 });
      expect(notices).toMatchObject([{ line: position + 1 }]);
      expect(files.text(PATH)).toBe(
        lines
          .slice(0, position)
          .map((line) => `${line}\n`)
          .join(""),
      );
      expect(files.size(`${PATH}.orphaned-7`)).toBe((1_200 - position) * 256 + 3);
      for (const { limit } of reads.slice(1)) expect(limit).toBe(500);
    }
  });

  test("that is torn is cut off and kept, beside what was torn before", () => {
    const { settle, files, notices } = world(2);
    for (const torn of ["{", '{"half']) {
      files.append(PATH, torn);
      expect(settle(false)).toEqual({ nextPos: 2, size: 512 });
    }
    expect(files.text(`${PATH}.torn`)).toBe('{\n{"half\n');
    expect(notices).toEqual([
      { kind: "torn-line", file: PATH, bytes: 1 },
      { kind: "torn-line", file: PATH, bytes: 6 },
    ]);
  });

  test("goes aside under a free name, and the same bytes go aside once", () => {
    const { settle, write, lines, files, notices } = world(4);
    const asides = ["one", "two", "one", "three"].map((what) => {
      write([...lines.slice(0, 2), JSON.stringify({ what })]);
      settle(true);
      const notice = notices.at(-1);
      return notice?.kind === "orphaned-lines" ? notice.aside : undefined;
    });
    expect(asides).toEqual(["", "-2", "", "-3"].map((name) => `${PATH}.orphaned-7${name}`));
    expect(files.text(`${PATH}.orphaned-7-2`)).toBe('{"what":"two"}\n');
  });
});

describe("what a history lacks", () => {
  test.each([0, 1, 499, 500, 501, 1_000, 1_001])("is appended in portions of 500 lines: %i of them", (lacking) => {
    const { files, source, lines, write, reads } = world(1_100);
    const have = 1_100 - lacking;
    write(lines.slice(0, have));
    const before = files.calls;
    const end = appendHistory(files, source, PATH, 1, { nextPos: have, size: have * 256 });
    expect(end).toEqual({ nextPos: 1_100, size: 1_100 * 256 });
    expect(files.text(PATH)).toBe(lines.map((line) => `${line}\n`).join(""));
    expect(files.calls - before).toBe(Math.ceil(lacking / 500));
    expect(reads.every(({ limit }) => limit === 500)).toBe(true);
  });

  test("is counted in bytes, not in letters", () => {
    const { files } = world(0);
    const source = { lines: (_no: number, from: number) => (from === 0 ? [{ pos: 0, line: '{"ä":"—"}' }] : []) };
    expect(appendHistory(files, source, PATH, 1, { nextPos: 0, size: 0 })).toEqual({
      nextPos: 1,
      size: files.size(PATH),
    });
  });
});
