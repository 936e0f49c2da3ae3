import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
  it("is a line of JSON per event, at once, from its level on", () => {
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

  it("shows warnings and errors to a person", () => {
    const shown: string[] = [];
    const log = jsonLog({ file: join(home, "log"), level: "info", errors: { write: (text) => shown.push(text) } });
    log.info("quiet");
    log.warn("careful", { agent: "a", absent: undefined });
    expect(shown).toEqual(["warn: careful (agent: a)\n"]);
  });

  it("never throws: not where it cannot be opened, nor what cannot be written, nor for whoever is shown", () => {
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
});
