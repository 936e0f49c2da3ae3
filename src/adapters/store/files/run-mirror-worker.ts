/** The module with which the mirror's thread begins. */
import { parentPort, workerData } from "node:worker_threads";
import { InvariantError } from "../../../core/errors.ts";
import { MirrorWorker, type WorkerData } from "./mirror-worker.ts";

if (!parentPort) throw new InvariantError("The mirror's thread was started as a program.");
new MirrorWorker(parentPort, workerData as WorkerData).work();
