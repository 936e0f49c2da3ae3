import { describe, expect, it } from "vitest";
import { ownFile } from "./fast-imports.ts";

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
});
