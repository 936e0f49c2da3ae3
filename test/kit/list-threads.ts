/**
 * For `node --require`, which runs in every thread: each thread of the process appends the module it runs to the file that
 * STARTED_THREADS names.
 */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";

const SRC = new URL("../../src/", import.meta.url).href;
const KEY = "started-threads";

// A thread may have no environment of its own.
if (isMainThread) setEnvironmentData(KEY, process.env.STARTED_THREADS);
else {
  const file = getEnvironmentData(KEY) as string;
  let isKnown = false;
  registerHooks({
    load(url, context, next) {
      if (!isKnown && url.startsWith(SRC)) {
        isKnown = true;
        appendFileSync(file, `src/${url.slice(SRC.length)}\n`);
      }
      return next(url, context);
    },
  });
}
