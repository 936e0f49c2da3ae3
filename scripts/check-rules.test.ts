import { describe, expect, it } from "vitest";
import { checkRules, LAYERS } from "./check-rules.ts";
import { maskSource } from "./mask-source.ts";

const OPENING = "/** What it is for. */\n";

/** The breaches of one file with this body. */
const judge = (file: string, body: string, opening = OPENING): readonly string[] =>
  checkRules(new Map([[file, opening + body]])).map(({ line, message }) => `${line}: ${message}`);

/** Replaces # with $, because the linter reports `${` in a plain string. */
const template = (text: string): string => text.replaceAll("#", "$");

describe("the table of layers", () => {
  it("names every layer and every folder once", () => {
    for (const subfolders of Object.values(LAYERS)) expect(new Set(subfolders).size).toBe(subfolders.length);
    expect(Object.keys(LAYERS)).toEqual(["core", "config", "engine", "adapters", "app", ""]);
  });
});

describe("imports", () => {
  it.each([
    ["src/engine/runs/loop.ts", 'import { take } from "../inbox/take.ts";'],
    ["src/engine/runs/loop.ts", 'import { step } from "./step.ts";'],
    [
      "src/engine/runs/deep/loop.ts",
      'import { step } from "../step.ts";\nimport type { Id } from "../../../core/ids.ts";',
    ],
    ["src/adapters/connectors/telegram/start.ts", 'import { accept } from "../../../engine/inbox/accept.ts";'],
    ["src/app/cli/commands/serve.ts", 'const { serve } = await import("../../library/serve.ts");'],
    ["src/main.ts", 'await import("./app/cli/router.ts");'],
    ["src/core/ids.ts", 'import { z } from "zod";'],
    ["src/core/ids.ts", '// import { x } from "../engine/runs/loop.ts"'],
    ["src/core/agent/state.ts", 'import { StoreFullError } from "../errors.ts";'],
    ["src/engine/inbox/accept.test.ts", 'import { openMemory } from "../../adapters/store/sqlite/open.ts";'],
    ["src/engine/inbox/accept.test-kit.ts", 'import { expect } from "vitest";'],
    ["src/engine/inbox/accept.test.ts", 'import { world } from "../../../test/sim/world/run-world.ts";'],
  ])("are allowed in %s: %s", (file, body) => {
    expect(judge(file, body)).toEqual([]);
  });

  it.each([
    ["src/core/ids.ts", 'import "../engine/inbox/take.ts";', "2: src/core may not import src/engine/inbox"],
    ["src/core/ids.ts", 'import "./agent/state.ts";', "2: src/core may not import src/core/agent"],
    ["src/core/message/x.ts", 'import "../agent/state.ts";', "2: src/core/message may not import src/core/agent"],
    [
      "src/engine/inbox/take.ts",
      'import type { Loop }\n  from "../runs/loop.ts";',
      "3: src/engine/inbox may not import src/engine/runs",
    ],
    [
      "src/engine/context/x.ts",
      'import { open } from "../../adapters/store/sqlite/open.ts";',
      "2: src/engine/context may not import src/adapters/store",
    ],
    [
      "src/engine/outbox/x.ts",
      'await import("../../adapters/connectors/telegram/send.ts");',
      "2: src/engine/outbox may not import src/adapters/connectors",
    ],
    ["src/adapters/store/x.ts", 'import "../../app/node/x.ts";', "2: src/adapters/store may not import src/app/node"],
    ["src/engine/runs/x.ts", 'import "../../main.ts";', "2: src/engine/runs may not import src/main.ts"],
    ["src/app/cli/x.test.ts", 'import { y } from "../../index.ts";', "2: src/app/cli may not import src/index.ts"],
    [
      "src/engine/runs/x.ts",
      'import { world } from "../../../test/sim/world/run-world.ts";',
      "2: imports test/sim/world/run-world.ts, outside of src",
    ],
    [
      "src/engine/runs/x.ts",
      'import { expect } from "vitest";',
      "2: imports vitest; code that tests share belongs in *.test-kit.ts or test/kit",
    ],
    [
      "src/engine/runs/x.ts",
      'import { y } from "./y.test-kit.ts";',
      "2: imports src/engine/runs/y.test-kit.ts, a part of the tests",
    ],
    ["src/drawer/x.ts", "", "1: src/drawer is not in the table of layers in scripts/check-rules.ts"],
    ["src/engine/drawer/x.ts", "", "1: src/engine/drawer is not in the table of layers in scripts/check-rules.ts"],
  ])("are forbidden in %s: %s", (file, body, says) => {
    expect(judge(file, body)).toEqual([says]);
  });

  it("are always a breach in both directions between two folders", () => {
    const subfolders = Object.entries(LAYERS).flatMap(([layer, inside]) =>
      inside.map((subfolder) => `${layer}/${subfolder}`),
    );
    for (const a of subfolders) {
      for (const b of subfolders.filter((other) => other !== a)) {
        const pair = new Map([
          [`src/${a}/a.ts`, `${OPENING}import "../../${b}/b.ts";`],
          [`src/${b}/b.ts`, `${OPENING}import "../../${a}/a.ts";`],
        ]);
        expect(checkRules(pair).length).toBeGreaterThan(0);
      }
    }
  });
});

describe("barrels", () => {
  it.each([
    ["src/core/index.ts", "export const one = 1;"],
    ["src/core/ports/ids.ts", 'export * from "./run.ts";'],
    ["src/core/ports/ids.ts", 'export * as runs from "./run.ts";'],
    ["src/core/ports/ids.ts", 'export { one,\n two } from "./run.ts";'],
    ["src/core/ports/ids.ts", 'export type { One } from "./run.ts";'],
  ])("are a breach: %s with %j", (file, body) => {
    expect(judge(file, body)).toHaveLength(1);
  });

  it("are no breach in src/index.ts, nor is an export of the file's own names", () => {
    expect(judge("src/index.ts", 'export { one } from "./core/ids.ts";')).toEqual([]);
    expect(judge("src/core/ports/ids.ts", "const one = 1;\nexport { one };\nexport const from = 2;")).toEqual([]);
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

  it.each(["core", "core/agent", "engine/inbox", "engine/runs"])("is forbidden in src/%s", (folder) => {
    for (const body of ambient) expect(judge(`src/${folder}/x.ts`, body), body).not.toEqual([]);
  });

  it("is allowed in the app and in tests", () => {
    for (const body of ambient) {
      expect(judge("src/app/gateway/x.ts", body), body).toEqual([]);
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
  ])("is not found in: %s", (body) => {
    expect(judge("src/core/x.ts", body)).toEqual([]);
  });
});

describe("the opening comment", () => {
  it.each(["", "export const one = 1;\n", "// biome-ignore lint: because\n", "/** */\nconst one = 1;\n"])(
    "is missing in %j",
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

  it("is not required in tests", () => {
    expect(judge("src/core/x.test.ts", "", "")).toEqual([]);
  });
});

describe("a test that replaces a module", () => {
  it("runs alone in its worker, which its name says", () => {
    for (const body of ['vi.mock("pg");', 'vi.doMock("pg", make);']) {
      expect(judge("src/core/x.test.ts", body)).toHaveLength(1);
      expect(judge("src/core/x.mocked.test.ts", body)).toEqual([]);
    }
    expect(judge("src/core/x.test.ts", 'vi.fn(); vi.mocked(one); say("vi.mock(1)");')).toEqual([]);
  });
});

describe("directories up to the root", () => {
  const body = "mkdirSync(dirname(path), { mode: 0o700, recursive: true });";

  it.each([body, "await mkdir(path, {\n  recursive: true,\n});"])("are a breach: %s", (made) => {
    expect(judge("src/adapters/store/x.ts", made)).toHaveLength(1);
  });

  it.each([
    "mkdirSync(path);",
    "rmSync(path, { recursive: true });",
    "mkdirSync(path); rmSync(path, { recursive: true });",
  ])("are not found in: %s", (made) => {
    expect(judge("src/adapters/store/x.ts", made)).toEqual([]);
  });

  it("are made for a person's command and in tests", () => {
    for (const file of [
      "src/app/cli/x.ts",
      "src/app/operations/x.ts",
      "src/config/create-home.ts",
      "src/core/x.test.ts",
    ]) {
      expect(judge(file, body)).toEqual([]);
    }
    expect(judge("src/app/gateway/x.ts", body)).toHaveLength(1);
  });
});

describe("bare errors", () => {
  it.each(['throw new Error("no");', "throw Error(text);", "reject(new Error(text));"])("are a breach: %s", (body) => {
    expect(judge("src/adapters/store/x.ts", body)).toHaveLength(1);
  });

  it.each(['throw new NotFoundError("no");', "throw error;", "// throw new Error()", 'say("throw new Error(1)");'])(
    "are not found in: %s",
    (body) => {
      expect(judge("src/adapters/store/x.ts", body)).toEqual([]);
    },
  );
});

describe("unreferenced handles", () => {
  it.each([
    "const worker = new Worker(code);",
    "setTimeout(work, 5).unref();",
    "timer?.unref?.();",
    "await pause(5, undefined, { ref: false });",
  ])("are a breach: %s", (line) => {
    const source = `/** A thing. */\n${line}\n`;
    const breaches = checkRules(new Map([["src/adapters/store/x.ts", source]]));
    expect(breaches).toEqual([expect.objectContaining({ file: "src/adapters/store/x.ts", line: 2 })]);
  });

  it("are left by the owners of threads and timers, and by tests", () => {
    const source = "/** A thing. */\nnew Worker(code).unref();\n";
    const files = ["src/adapters/system/thread.ts", "src/adapters/store/x.test.ts"];
    expect(checkRules(new Map(files.map((file) => [file, source])))).toEqual([]);
  });
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
  ])("reduces %j to the code %j", (source, code) => {
    expect(maskSource(source).code).toBe(code);
  });
});

describe("numbers of laws", () => {
  const BARE = "names a law by its number alone; state the rule, and put the number in brackets";
  it.each([
    ["src/core/x.ts", "/** Nothing is sent twice (L4, M12). */", []],
    ["src/core/x.ts", 'const text = "L4";', []],
    ["src/core/x.ts", "/** L4: nothing is sent twice. */", [`2: ${BARE}`]],
    ["src/core/x.ts", "/* 🪶 */ const size = 1; // as M12 says", [`2: ${BARE}`]],
    [
      "src/core/x.test.ts",
      'it("sends nothing twice (L4)", () => {});',
      ["2: has a test title with the number of a law; state the rule"],
    ],
    ["src/core/x.test.ts", 'it("sends nothing twice", () => {}); // L4 is a rule', [`2: ${BARE}`]],
  ])("are in brackets behind a rule, and in no title: %s: %s", (file, body, breaches) => {
    expect(judge(file, body)).toEqual(breaches);
  });
});
