/** Vitest for `leftovers.test.ts`: the set-up of `npm test`, with one test that leaves everything behind. */
import { fileURLToPath } from "node:url";
import { mergeConfig } from "vitest/config";
import base from "../../../vitest.config.ts";
import { testRun } from "../test-run.ts";

export default mergeConfig(base, {
  root: fileURLToPath(new URL("../../../", import.meta.url)),
  test: {
    projects: [
      {
        extends: true,
        test: { name: "leftovers", include: ["test/kit/leftovers/careless.ts"], env: { TMPDIR: testRun().memory } },
      },
    ],
  },
});
