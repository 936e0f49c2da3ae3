import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError } from "../../../core/errors.ts";
import { fitsSocket, PLACE_FILE, placeForEngine, placeOf, SOCKET_FILE } from "./socket-place.ts";

let root: string;
let longHome: string;
/** A runtime directory with a short path, for this test only. */
let runtime: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-place-"));
  longHome = join(root, "a".repeat(60), "b".repeat(60));
  runtime = mkdtempSync("/tmp/rkr-");
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
    expect(placeOf(root)).toEqual({ path: join(root, SOCKET_FILE) });
    expect(placeForEngine(root, { XDG_RUNTIME_DIR: runtime }).path).toBe(join(root, SOCKET_FILE));
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
});
