import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freshToken } from "../../app/gateway/auth/token.ts";
import { Secret } from "../../config/secret.ts";
import { jsonLog } from "./json-log.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-log-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const lines = (file: string) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("the log", () => {
  it("writes one line of JSON per event at once, from its level up", () => {
    const file = join(home, "log");
    const log = jsonLog({ file, level: "info" });
    log.debug("no");
    log.info("yes", { agent: "a\nb", n: 1 });
    log.error("bad");
    expect(lines(file).map(({ level, message, agent }) => [level, message, agent])).toEqual([
      ["info", "yes", "a\nb"],
      ["error", "bad", undefined],
    ]);
  });

  it("also writes warnings and errors to the error stream", () => {
    const shown: string[] = [];
    const log = jsonLog({ file: join(home, "log"), level: "info", errors: { write: (text) => shown.push(text) } });
    log.info("quiet");
    log.warn("careful", { agent: "a", absent: undefined });
    expect(shown).toEqual(["warn: careful (agent: a)\n"]);
  });

  it("never throws: not if the file cannot be opened, a value cannot be written, or the error stream fails", () => {
    const log = jsonLog({ file: join(home, "no", "such", "place"), level: "debug", errors: { write: () => true } });
    expect(() => log.error("x")).not.toThrow();
    const odd = jsonLog({ file: join(home, "log"), level: "debug" });
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(() => odd.info("x", circle as never)).not.toThrow();
    expect(() => odd.info("x", { big: 1n } as never)).not.toThrow();
    const broken = jsonLog({
      file: join(home, "no", "place"),
      level: "debug",
      errors: {
        write() {
          throw new TypeError("gone");
        },
      },
    });
    expect(() => broken.warn("x")).not.toThrow();
  });

  it("rotates a file that grows too large, and keeps a limited number", () => {
    const file = join(home, "log");
    const log = jsonLog({ file, level: "info", maxBytes: 300, keep: 2 });
    for (let n = 0; n < 20; n++) log.info(`line ${n}`);
    const all = [`${file}.2`, `${file}.1`, file].map((name) => lines(name).map(({ message }) => message as string));
    expect(all.every((some) => some.length > 0)).toBe(true);
    expect(all.flat().at(-1)).toBe("line 19");
    // No line is lost between the files that are kept.
    const first = Number(all.flat()[0]?.split(" ")[1]);
    expect(all.flat()).toEqual(Array.from({ length: 20 - first }, (_, n) => `line ${first + n}`));
    expect(() => readFileSync(`${file}.3`)).toThrow();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("masks secrets, by their type and by the form of a token", () => {
    const file = join(home, "log");
    const shown: string[] = [];
    const log = jsonLog({ file, level: "info", errors: { write: (text) => shown.push(text) } });
    const { text } = freshToken();
    log.warn(`asked with Bearer ${text}`, {
      token: text,
      key: new Secret({ value: "hunter2" }) as never,
      header: "Bearer abcdefghijkl",
      error: "cannot reach postgres://rookery:correct-horse@db.example/rookery",
    });
    const all = readFileSync(file, "utf8") + shown.join("");
    expect(all).not.toContain(text.slice(-20));
    expect(all).not.toContain("hunter2");
    expect(all).not.toContain("abcdefghijkl");
    expect(all).not.toContain("correct-horse");
    expect(all).toContain("db.example/rookery");
    expect(all).toContain("***");
  });

  it("follows a change of its level at once", () => {
    const file = join(home, "log");
    let level: "info" | "error" = "error";
    const log = jsonLog({ file, level: () => level });
    log.info("no");
    level = "info";
    log.info("yes");
    expect(lines(file).map(({ message }) => message)).toEqual(["yes"]);
  });
});
