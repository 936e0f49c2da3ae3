/** `rookery open`: opens the control room of the running engine in a browser, with a link that signs in once. */
import { spawn } from "node:child_process";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { printResult } from "../print.ts";

export interface SignIn {
  readonly url: string;
  readonly expiresAt: number;
}

export const openCommand = defineAction({
  summary: "open the control room in a browser",
  description:
    "Needs a running `rookery serve`. Prints a link that signs you in once, within a minute, and opens it if there is a desktop.",
  options: { print: { type: "boolean", description: "only print the link" } },
  async run(context) {
    const { flags, json, stderr } = context;
    const made = (await withApi(context, (api) => api.ask({ method: "POST", path: "/api/logins/codes" }))) as SignIn;
    printResult(context, made, made.url);
    if (json || flags.print || !openInBrowser(context, made.url)) {
      stderr.write("The link works once, within a minute. Open it in a browser on this machine.\n");
    }
    return undefined;
  },
});

/** False if there is nothing to open it with. The program goes on when this command has ended. */
function openInBrowser({ env }: CommandContext, url: string): boolean {
  const isDesktop = process.platform !== "linux" || Boolean(env.DISPLAY ?? env.WAYLAND_DISPLAY);
  if (!isDesktop) return false;
  const [command, args] =
    {
      darwin: ["open", [url]] as const,
      win32: ["cmd", ["/c", "start", "", url]] as const,
    }[process.platform as string] ?? (["xdg-open", [url]] as const);
  const opened = spawn(command, args, { detached: true, stdio: "ignore" });
  opened.on("error", () => undefined);
  opened.unref();
  return true;
}
