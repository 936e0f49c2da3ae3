import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeDiskDirectory } from "../../../../test/kit/disk-directory.ts";
import { ConfigError } from "../../../core/errors.ts";
import { assertOwnSocket, fitsSocket, PLACE_FILE, placeForEngine, placeOf } from "./socket-place.ts";

let root: string;
let longHome: string;
/** A runtime directory with a short path, for this test only. */
let runtime: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-place-"));
  longHome = join(root, "a".repeat(60), "b".repeat(60));
  runtime = makeDiskDirectory("rkr-");
  mkdirSync(longHome, { recursive: true, mode: 0o700 });
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
  rmSync(runtime, { recursive: true, force: true });
});

const name = (directory: string): void => writeFileSync(join(longHome, PLACE_FILE), `${directory}\n`, { mode: 0o600 });
const chosen = () => placeForEngine(longHome, { XDG_RUNTIME_DIR: runtime });

describe("the place of the control socket", () => {
  it("is in the home, if its path is short enough", () => {
    expect(placeOf(root)).toEqual({ path: join(root, "control.sock") });
    expect(placeForEngine(root, { XDG_RUNTIME_DIR: runtime }).path).toBe(join(root, "control.sock"));
  });

  it("is a new private directory for a long home, which the home names", () => {
    expect(placeOf(longHome)).toBeUndefined();
    const { path, directory = "" } = chosen();
    expect(directory.startsWith(`${runtime}/rookery-`)).toBe(true);
    expect([fitsSocket(path), statSync(directory).mode & 0o777]).toEqual([true, 0o700]);
    name(directory);
    expect(placeOf(longHome)).toEqual({ path, directory });
    expect(chosen().directory).toBe(directory);
  });

  it("is not a directory that an attacker made, opened or replaced by a link", () => {
    const planted = join(runtime, "planted");
    mkdirSync(planted, { mode: 0o700 });
    chmodSync(planted, 0o777);
    name(planted);
    expect(() => placeOf(longHome)).toThrow(ConfigError);
    expect(chosen().directory).not.toBe(planted);

    const mine = join(runtime, "mine");
    mkdirSync(mine, { mode: 0o700 });
    const link = join(runtime, "link");
    symlinkSync(mine, link);
    name(link);
    expect(() => placeOf(longHome)).toThrow("does not belong to the owner of the home alone");
    expect(chosen().directory).not.toBe(link);
  });

  it("is not in a directory in which others can replace it", () => {
    const open = join(runtime, "open");
    mkdirSync(join(open, "mine"), { recursive: true, mode: 0o700 });
    chmodSync(open, 0o777);
    name(join(open, "mine"));
    expect(() => placeOf(longHome)).toThrow(ConfigError);
    expect(placeForEngine(longHome, { XDG_RUNTIME_DIR: open }).directory?.startsWith(open)).toBe(false);
    // Sticky, as /tmp is: only owners remove what is theirs.
    chmodSync(open, 0o1777);
    expect(placeOf(longHome)).toMatchObject({ directory: join(open, "mine") });
  });

  it("is unknown if the home names nothing that exists, or no path", () => {
    name(join(runtime, "gone"));
    expect(placeOf(longHome)).toBeUndefined();
    name("relative/path");
    expect(placeOf(longHome)).toBeUndefined();
    expect(existsSync(join(longHome, PLACE_FILE))).toBe(true);
  });

  it("fits if its path has at most 100 bytes, not characters", () => {
    expect([fitsSocket("x".repeat(100)), fitsSocket("x".repeat(101))]).toEqual([true, false]);
    expect([fitsSocket("é".repeat(50)), fitsSocket("é".repeat(51))]).toEqual([true, false]);
  });

  it("is kept only if the named directory is private, and its own path is short enough", () => {
    const fine = join(runtime, "fine");
    const long = join(runtime, "x".repeat(90));
    for (const directory of [fine, long]) mkdirSync(directory, { mode: 0o700 });
    name(fine);
    expect(chosen()).toEqual({ path: join(fine, "control.sock"), directory: fine, isNew: false });
    name(long);
    expect(chosen()).toMatchObject({ isNew: true, directory: expect.stringContaining(`${runtime}/rookery-`) });
    chmodSync(fine, 0o750);
    name(fine);
    expect(chosen().isNew).toBe(true);
  });

  it("is new where the home names nothing, and says so", () => {
    expect(chosen().isNew).toBe(true);
    expect(placeForEngine(root, {}).isNew).toBe(false);
    expect(chosen().directory).not.toBe(chosen().directory);
  });

  it.each([
    ["a relative path", "."],
    ["a path that is too long", `/tmp/${"x".repeat(90)}`],
    ["a directory that is not there", "/nowhere/at/all"],
    ["nothing", undefined],
  ])("is not in a runtime directory that is %s", (_, XDG_RUNTIME_DIR) => {
    const { directory = "", path, isNew } = placeForEngine(longHome, { XDG_RUNTIME_DIR });
    try {
      expect([isNew, fitsSocket(path), statSync(directory).mode & 0o777]).toEqual([true, true, 0o700]);
      expect(isAbsolute(directory)).toBe(true);
      if (XDG_RUNTIME_DIR !== undefined) expect(directory.startsWith(XDG_RUNTIME_DIR)).toBe(false);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("is not read from a link, a directory or a file that is too large", () => {
    const mine = join(runtime, "mine");
    mkdirSync(mine, { mode: 0o700 });
    const file = join(longHome, PLACE_FILE);
    writeFileSync(join(root, "elsewhere"), mine);
    symlinkSync(join(root, "elsewhere"), file);
    expect(placeOf(longHome)).toBeUndefined();
    rmSync(file);
    writeFileSync(file, `${mine}${" ".repeat(4_097 - mine.length)}`);
    expect(placeOf(longHome)).toBeUndefined();
    writeFileSync(file, `${mine}${" ".repeat(4_096 - mine.length)}`);
    expect(placeOf(longHome)).toMatchObject({ directory: mine });
  });
});

describe("a socket that is found", () => {
  it("is used only if it is a socket, and no other user can use it", async () => {
    const path = join(runtime, "s");
    writeFileSync(path, "");
    expect(() => assertOwnSocket(path, root)).toThrow("is not a socket");
    rmSync(path);
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(path, resolve));
    try {
      chmodSync(path, 0o600);
      assertOwnSocket(path, root);
      for (const mode of [0o610, 0o601, 0o660, 0o606]) {
        chmodSync(path, mode);
        expect(() => assertOwnSocket(path, root), mode.toString(8)).toThrow("can be used by other users");
      }
      const link = join(runtime, "link");
      symlinkSync(path, link);
      expect(() => assertOwnSocket(link, root)).toThrow("is not a socket");
    } finally {
      server.close();
    }
  });
});
