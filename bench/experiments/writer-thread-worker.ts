/** The worker of the writer-thread experiment: commits the changes it receives with the store's own group commit. */
import { parentPort, workerData } from "node:worker_threads";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import type { Change, CommitResult } from "../../src/core/store/change.ts";

const { home } = workerData as { home: string };
const store = openSqliteStore({ home });
let answers: { n: number; result: CommitResult }[] = [];

parentPort?.on("message", (incoming: "close" | { n: number; change: Change }[]) => {
  if (incoming === "close") {
    void store.close().then(() => process.exit(0));
    return;
  }
  for (const { n, change } of incoming) {
    void store.commit(change).then((result) => {
      // Answers of one flush are sent in one message.
      if (answers.length === 0) {
        queueMicrotask(() =>
          setImmediate(() => {
            parentPort?.postMessage(answers);
            answers = [];
          }),
        );
      }
      answers.push({ n, result });
    });
  }
});
