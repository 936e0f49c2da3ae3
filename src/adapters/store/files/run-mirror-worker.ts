/** The module with which the mirror's thread begins. It serves every home that this process has open. */
import { parentPort } from "node:worker_threads";
import { InvariantError } from "../../../core/errors.ts";
import type { ThreadUser } from "../../system/thread.ts";
import { MirrorWorker, type WorkerData } from "./mirror-worker.ts";

if (!parentPort) throw new InvariantError("The mirror's thread was started as a program.");
parentPort.on("message", ({ port, data }: ThreadUser<WorkerData>) => new MirrorWorker(port, data).work());
