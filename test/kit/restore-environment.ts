/** Files of one worker share its environment: what a file sets, such as `TMPDIR`, ends with the file. */
import { afterAll } from "vitest";

const before = { ...process.env };

afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
