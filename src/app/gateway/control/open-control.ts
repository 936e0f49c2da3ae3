/** Opens the control socket of an engine. An engine whose home cannot hold a socket works without it and says so. */
import { errorText } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { HttpServer } from "../http/server.ts";
import { bindControlSocket, type ControlSocket } from "./bind-control-socket.ts";

export async function openControl(
  home: string,
  { clock, log }: Pick<Ports, "clock" | "log">,
  server: () => HttpServer | Promise<HttpServer>,
): Promise<ControlSocket | undefined> {
  try {
    return await bindControlSocket({ home, server, clock, log });
  } catch (error) {
    log.warn("there is no control socket: commands cannot use this engine", { error: errorText(error) });
    return undefined;
  }
}
