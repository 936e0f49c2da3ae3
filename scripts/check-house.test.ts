import { describe, expect, it } from "vitest";
import { checkHouse, MAY_IMPORT } from "./check-house.ts";
import { maskSource } from "./mask-source.ts";

const OPENING = "/** What it is for. */\n";

/** What the house says of one file with this body. */
const judge = (file: string, body: string, opening = OPENING): readonly string[] =>
  checkHouse(new Map([[file, opening + body]])).map(({ line, message }) => `${line}: ${message}`);

/** Written with # so that the linter does not take the text for a slip. */
const template = (text: string): string => text.replaceAll("#", "$");

describe("the table of who may import whom", () => {
  it("has each folder above all it may use, so that it cannot hold a circle", () => {
    const order = Object.keys(MAY_IMPORT);
    for (const [folder, allowed] of Object.entries(MAY_IMPORT)) {
      for (const other of allowed) expect(order.indexOf(other)).toBeLessThan(order.indexOf(folder));
      for (const other of allowed) expect(order).toContain(other);
    }
  });

  it("keeps the road, the runs and the agents away from what they know as ports", () => {
    for (const folder of ["inbox", "history", "outbox", "runs", "agents", "triggers"]) {
      for (const port of ["store", "models", "tools", "connectors"]) expect(MAY_IMPORT[folder]).not.toContain(port);
    }
  });
});

describe("imports", () => {
  it.each([
    ["src/runs/loop.ts", 'import { take } from "../inbox/take.ts";'],
    ["src/runs/loop.ts", 'import { step } from "./step.ts";'],
    ["src/runs/deep/loop.ts", 'import { step } from "../step.ts";\nimport type { RunId } from "../../core/ids.ts";'],
    ["src/connectors/telegram/start.ts", 'import { accept } from "../../inbox/accept.ts";'],
    ["src/cli/commands/serve.ts", 'const { serve } = await import("../../gateway/serve.ts");'],
    ["src/main.ts", 'await import("./cli/router.ts");'],
    ["src/core/ids.ts", 'import { z } from "zod";'],
    ["src/core/ids.ts", '// import { x } from "../runs/loop.ts"'],
    ["src/inbox/accept.test.ts", 'import { openMemory } from "../store/sqlite/open.ts";'],
    ["src/inbox/accept.test-kit.ts", 'import { expect } from "vitest";'],
    ["src/inbox/accept.test.ts", 'import { world } from "../../test/sim/world.ts";'],
  ])("may be written in %s: %s", (file, body) => {
    expect(judge(file, body)).toEqual([]);
  });

  it.each([
    ["src/core/ids.ts", 'import { take } from "../inbox/take.ts";', "2: src/core may not import src/inbox"],
    ["src/inbox/take.ts", 'import type { Loop }\n  from "../runs/loop.ts";', "3: src/inbox may not import src/runs"],
    ["src/history/x.ts", 'import { open } from "../store/sqlite/open.ts";', "2: src/history may not import src/store"],
    [
      "src/outbox/x.ts",
      'await import("../connectors/telegram/send.ts");',
      "2: src/outbox may not import src/connectors",
    ],
    ["src/runs/x.ts", 'import "../main.ts";', "2: src/runs may not import src/main.ts"],
    ["src/cli/x.test.ts", 'import { y } from "../index.ts";', "2: src/cli may not import src/index.ts"],
    [
      "src/runs/x.ts",
      'import { world } from "../../test/sim/world.ts";',
      "2: imports test/sim/world.ts, outside of src",
    ],
    [
      "src/runs/x.ts",
      'import { expect } from "vitest";',
      "2: imports vitest; what tests share is called *.test-kit.ts",
    ],
    ["src/runs/x.ts", 'import { y } from "./y.test-kit.ts";', "2: imports src/runs/y.test-kit.ts, a part of the tests"],
    ["src/drawer/x.ts", "", "1: src/drawer is not in the table of who may import whom"],
  ])("may not be written in %s: %s", (file, body, says) => {
    expect(judge(file, body)).toEqual([says]);
  });

  it("pointing both ways between two folders are always a breach", () => {
    const folders = Object.keys(MAY_IMPORT).filter((folder) => folder !== "");
    for (const a of folders) {
      for (const b of folders.filter((other) => other !== a)) {
        const pair = new Map([
          [`src/${a}/a.ts`, `${OPENING}import "../${b}/b.ts";`],
          [`src/${b}/b.ts`, `${OPENING}import "../${a}/a.ts";`],
        ]);
        expect(checkHouse(pair).length).toBeGreaterThan(0);
      }
    }
  });
});

describe("barrels", () => {
  it.each([
    ["src/core/index.ts", "export const one = 1;"],
    ["src/core/ids.ts", 'export * from "./run.ts";'],
    ["src/core/ids.ts", 'export * as runs from "./run.ts";'],
    ["src/core/ids.ts", 'export { one,\n two } from "./run.ts";'],
    ["src/core/ids.ts", 'export type { One } from "./run.ts";'],
  ])("are a breach: %s with %j", (file, body) => {
    expect(judge(file, body)).toHaveLength(1);
  });

  it("are the public face only", () => {
    expect(judge("src/index.ts", 'export { one } from "./core/ids.ts";')).toEqual([]);
    expect(judge("src/core/ids.ts", "const one = 1;\nexport { one };\nexport const from = 2;")).toEqual([]);
  });
});

describe("the ambient world", () => {
  const ambient = [
    "const at = Date.now();",
    "const at = new Date();",
    "const at = Date();",
    "const at = performance.now();",
    "const die = Math.random();",
    "setTimeout(go, 1);",
    "setInterval(go, 1);",
    "const later = setImmediate;",
    "globalThis.setTimeout(go, 1);",
    "await fetch(url);",
    "const home = process.env.HOME;",
    "crypto.randomUUID();",
    'import { randomBytes } from "node:crypto";',
    'import { readFileSync } from "node:fs";',
    'import { readFile } from "fs/promises";',
    'await import("node:child_process");',
    template("const text = `#{Date.now()}`;"),
  ];

  it.each(["core", "inbox", "runs", "history", "agents", "outbox", "triggers"])("is not for src/%s", (folder) => {
    for (const body of ambient) expect(judge(`src/${folder}/x.ts`, body), body).not.toEqual([]);
  });

  it("is for adaptors and for tests", () => {
    for (const body of ambient) {
      expect(judge("src/gateway/x.ts", body), body).toEqual([]);
      expect(judge("src/core/x.test.ts", body), body).toEqual([]);
    }
  });

  it.each([
    "const at = ports.clock.now();",
    "const at = new Date(ms).toISOString();",
    "const at: Date = day;",
    "// Date.now() and Math.random() are not for us",
    'const text = "process.env and fetch(x)";',
    "const text = `Date.now()`;",
    "const pattern = /fetch(x)|process.env/;",
    "agent.process.start(); store.fetch(1); prefetch(2); this.setTimeout;",
    'import { createHash } from "node:crypto";',
  ])("is not seen where it is not: %s", (body) => {
    expect(judge("src/core/x.ts", body)).toEqual([]);
  });
});

describe("the opening comment", () => {
  it.each(["", "export const one = 1;\n", "// biome-ignore lint: because\n", "/** */\nconst one = 1;\n"])(
    "is missed behind %j",
    (opening) => {
      expect(judge("src/core/x.ts", "", opening)).toEqual(["1: does not open with a comment that says what it is for"]);
    },
  );

  it.each(["/** Counts. */\n", "/**\n * Counts.\n */\n", "// Counts.\n", "#!/usr/bin/env node\n/** Counts. */\n"])(
    "may be %j",
    (opening) => {
      expect(judge("src/core/x.ts", "", opening)).toEqual([]);
    },
  );

  it("is not asked of tests", () => {
    expect(judge("src/core/x.test.ts", "", "")).toEqual([]);
  });
});

describe("bare errors", () => {
  it.each(['throw new Error("no");', "throw Error(text);", "reject(new Error(text));"])("are a breach: %s", (body) => {
    expect(judge("src/store/x.ts", body)).toHaveLength(1);
  });

  it.each(['throw new NotFoundError("no");', "throw error;", "// throw new Error()", 'say("throw new Error(1)");'])(
    "are not seen where they are not: %s",
    (body) => {
      expect(judge("src/store/x.ts", body)).toEqual([]);
    },
  );
});

describe("maskSource", () => {
  it.each([
    ["a // b\nc", "a     \nc"],
    ["a /* b\nc */ d", "a     \n     d"],
    ['f(\'x\', "y\\"z")', "f(' ', \"    \")"],
    [template("`a#{b}c#{`d#{e}`}f` + g"), template("` #{b} #{` #{e}`} ` + g")],
    [template("`#{{ a: 1 }.a}x`"), template("`#{{ a: 1 }.a} `")],
    ["x = /[/'\"]/g; y", "x = /     /g; y"],
    ["a / b / c", "a / b / c"],
    ["/* never closed", "               "],
    ["'http://x'", "'        '"],
  ])("leaves of %j the code %j", (source, code) => {
    expect(maskSource(source).code).toBe(code);
  });
});
