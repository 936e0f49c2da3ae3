import { describe, expect, it } from "vitest";
import { checkWeb } from "./check-web.ts";

const judge = (body: string, file = "web/src/views/now.tsx"): readonly string[] =>
  checkWeb(new Map([[file, body]])).map(({ line, message }) => `${line}: ${message}`);

describe("imports of the page", () => {
  it.each([
    'import { newKey } from "../../../src/client-browser.ts";',
    'import type { Approval } from "../../../src/core/rights/approval.ts";',
    'import { type Approval } from "../../../src/core/rights/approval.ts";',
    'import { t } from "../texts.ts";',
    'import "../styles/base.css";',
    'const { Run } = await import("./run.tsx");',
    'import { useState } from "preact/hooks";',
  ])("are allowed: %s", (body) => {
    expect(judge(body)).toEqual([]);
  });

  it.each([
    ['import { GRANT_MS } from "../../../src/core/rights/approval.ts";', "imports src/core/rights/approval.ts"],
    [
      'import { type Approval, GRANT_MS } from "../../../src/core/rights/approval.ts";',
      "imports src/core/rights/approval.ts",
    ],
    ['import type { Engine } from "../../../src/engine/agents/agent-system.ts";', "imports src/engine"],
    ['import "../../../src/core/ids.ts";', "imports src/core/ids.ts"],
    ['const x = await import("../../../src/app/client/client.ts");', "imports src/app/client/client.ts"],
    ['import { readFileSync } from "node:fs";', "imports node:fs"],
    ['import { z } from "zod";', "imports zod"],
  ])("are breaches: %s", (body, message) => {
    expect(judge(`\n${body}`)).toEqual([expect.stringContaining(message)]);
    expect(judge(`\n${body}`)[0]).toMatch(/^2: /);
  });
});

describe("texts of the page", () => {
  it.each([
    "<p>Hello there</p>",
    '<button aria-label="Close it" />',
    '<input placeholder="Search" />',
    '<Field label="Name" />',
  ])("belong in one file, not in %s", (element) => {
    expect(judge(`const x = ${element};`)).toHaveLength(1);
    expect(judge(`const x = ${element};`, "web/src/texts.ts")).toEqual([]);
  });

  it.each([
    "<p>{t.now.title}, {n}</p>",
    '<p class="muted"> · </p>',
    '<option value="cron">{name}</option>',
    "<Stat label={t.x} />",
  ])("are not %s", (element) => {
    expect(judge(`const x = ${element};`)).toEqual([]);
  });
});
