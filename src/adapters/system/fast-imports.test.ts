import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ownFile, zodFile } from "./fast-imports.ts";

const at = (path: string): string => new URL(`../../${path}`, import.meta.url).href;

describe("the fast resolution of imports", () => {
  it.each(["main.ts", "core/errors.ts", "engine/runs/loop.ts", "adapters/system/version.ts", "app/cli/router.ts"])(
    "covers the imports of %s",
    (importer) => {
      expect(ownFile("./x.ts", at(importer))).toBe(new URL("./x.ts", at(importer)).href);
    },
  );

  it("leaves packages, built-in modules, other extensions and other importers to Node", () => {
    for (const specifier of ["zod", "node:fs", "./x.json"]) expect(ownFile(specifier, at("main.ts"))).toBeUndefined();
    expect(ownFile("./x.ts", at("../test/kit/clock.ts"))).toBeUndefined();
    expect(ownFile("./x.ts", undefined)).toBeUndefined();
  });

  it("covers the imports between the files of zod, and loads one of its languages", () => {
    const zod = new URL("v4/classic/", import.meta.resolve("zod")).href;
    expect(zodFile("./schemas.js", `${zod}external.js`)).toBe(`${zod}schemas.js`);
    expect(zodFile("../locales/index.js", `${zod}external.js`)).toBe(new URL("../locales/en.js", zod).href);
    for (const url of [
      zodFile("./schemas.js", `${zod}external.js`),
      zodFile("../locales/index.js", `${zod}external.js`),
    ]) {
      expect(existsSync(new URL(url ?? ""))).toBe(true);
    }
    expect(zodFile("zod", `${zod}external.js`)).toBeUndefined();
    expect(zodFile("./x.js", "file:///app/node_modules/zod-other/v4/classic/external.js")).toBeUndefined();
    expect(zodFile("./x.js", undefined)).toBeUndefined();
  });
});
