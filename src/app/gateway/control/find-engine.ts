/** Finds the engine that runs on a home, by its control socket. */
import { existsSync, lstatSync } from "node:fs";
import { ConfigError } from "../../../core/errors.ts";
import type { Transport } from "../../client/transport.ts";
import { assertOwnSocket, placeOf } from "./socket-place.ts";
import { socketTransport } from "./socket-transport.ts";

/** Whether an engine left its socket there: it runs, or it was killed. One that stops removes it. */
export const hasSocket = (home: string): boolean => {
  const place = existsSync(home) ? placeOf(home) : undefined;
  return place !== undefined && lstatSync(place.path, { throwIfNoEntry: false }) !== undefined;
};

/** Undefined if no engine answers. Throws if the socket is not one that this user may trust. */
export async function findEngine(home: string): Promise<Transport | undefined> {
  const place = existsSync(home) ? placeOf(home) : undefined;
  if (!place || !hasSocket(home)) return undefined;
  const { path } = place;
  try {
    assertOwnSocket(path, home);
  } catch (error) {
    // An engine that stops removes its socket.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const { connect } = process.getBuiltinModule("node:net");
  const isThere = await new Promise<boolean>((resolve, reject) => {
    const probe = connect(path, () => {
      probe.destroy();
      resolve(true);
    });
    probe.on("error", (cause: NodeJS.ErrnoException) => {
      if (cause.code !== "EACCES" && cause.code !== "EPERM") return resolve(false);
      const hint = "The engine runs as another user. Run this command as that user.";
      reject(new ConfigError(`The control socket ${path} cannot be used: ${cause.message}.`, { cause, hint }));
    });
  });
  return isThere ? socketTransport(path) : undefined;
}
