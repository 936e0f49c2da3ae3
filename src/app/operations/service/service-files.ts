/**
 * The files of a background service, as texts: a systemd user unit or a launchd agent, and the environment file that both read.
 * Pure. The service restarts after a failure, not after a wrong configuration, and stops as `rookery serve` stops.
 */
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { InvalidInputError } from "../../../core/errors.ts";

interface ServiceTarget {
  /** The home of the installation. */
  readonly home: string;
  /** The user's home directory. */
  readonly userHome: string;
  readonly platform: string;
  /** Absolute paths: the Node binary and the program's entry point. */
  readonly node: string;
  readonly program: string;
}

interface ServiceFile {
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

export type ServiceKind = "systemd" | "launchd";

export interface ServicePlan {
  readonly kind: ServiceKind;
  /** As the system calls it: `rookery.service`, `dev.rookery`. */
  readonly name: string;
  readonly unit: ServiceFile;
  readonly environment: string;
}

/** Longer than a stop may take: a stop is never cut short. */
const STOP_SECONDS = 40;
const RESTART_SECONDS = 2;
/** Exit codes after which another start cannot help: a wrong command line, a wrong configuration. */
const FINAL_CODES = [2, 3];

/** Throws `InvalidInputError` on a system without either, and for a path that cannot be written into a unit. */
export function planService(target: ServiceTarget): ServicePlan {
  const { home, node, program, userHome } = target;
  for (const path of [home, node, program, userHome]) {
    if (/[\p{Cc}'"\\]/u.test(path)) {
      throw new InvalidInputError(`A service cannot use the path ${JSON.stringify(path)}.`, {
        hint: "Use a path without quotes, backslashes and control characters.",
      });
    }
  }
  if (program.includes("/_npx/")) {
    throw new InvalidInputError("npx keeps this program only for a while, so a service cannot use it.", {
      hint: "Install it first: npm install --global rookery. Then run `rookery engine install`.",
    });
  }
  const environment = join(home, "service.env");
  const id = serviceId(target);
  if (target.platform === "linux") {
    const name = `${id}.service`;
    const path = join(userHome, ".config", "systemd", "user", name);
    return { kind: "systemd", name, environment, unit: { path, mode: 0o600, text: systemdUnit(target, environment) } };
  }
  if (target.platform === "darwin") {
    const name = `dev.${id}`;
    const path = join(userHome, "Library", "LaunchAgents", `${name}.plist`);
    return {
      kind: "launchd",
      name,
      environment,
      unit: { path, mode: 0o600, text: launchdAgent(target, name, environment) },
    };
  }
  throw new InvalidInputError(`There is no service for ${target.platform}.`, {
    hint: "Start `rookery serve` with the means of your system.",
  });
}

/** `rookery` for the usual home; for another one its name and a digest, so that each home has its own service. */
function serviceId({ home, userHome }: ServiceTarget): string {
  if (home === join(userHome, ".rookery")) return "rookery";
  const name = basename(home)
    .replace(/[^A-Za-z0-9]+/g, "-")
    .slice(0, 40);
  return `rookery-${name}-${createHash("sha256").update(home).digest("hex").slice(0, 6)}`;
}

/** A word of `ExecStart`: specifiers and variables are not expanded in it. */
const systemdWord = (text: string): string => `"${text.replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;

const systemdUnit = (
  { home, node, program }: ServiceTarget,
  environment: string,
): string => `# Written by rookery engine install. Undo: rookery engine remove
[Unit]
Description=Rookery in ${home.replaceAll("%", "%%")}
# Each start answers more, also after many crashes: systemd never gives up.
StartLimitIntervalSec=0

[Service]
ExecStart=${[node, program, "serve", "--home", home].map(systemdWord).join(" ")}
ExecReload=/bin/kill -HUP $MAINPID
EnvironmentFile=-${environment.replaceAll("%", "%%")}
Restart=on-failure
RestartSec=${RESTART_SECONDS}
RestartPreventExitStatus=${FINAL_CODES.join(" ")}
TimeoutStopSec=${STOP_SECONDS}
# Commands that agents left in the background go on; the next start finds them.
KillMode=process
UMask=0077

[Install]
WantedBy=default.target
`;

const xml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** launchd reads no environment file, so a shell does. */
function launchdAgent({ home, node, program }: ServiceTarget, name: string, environment: string): string {
  const command = `set -a; [ -r '${environment}' ] && . '${environment}'; exec '${node}' '${program}' serve --home '${home}'`;
  const log = join(home, "logs", "service.log");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${xml(name)}</string>
  <key>ProgramArguments</key>
  <array><string>/bin/sh</string><string>-c</string><string>${xml(command)}</string></array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>${RESTART_SECONDS}</integer>
  <key>ExitTimeOut</key><integer>${STOP_SECONDS}</integer>
  <key>Umask</key><integer>63</integer>
  <key>StandardOutPath</key><string>${xml(log)}</string>
  <key>StandardErrorPath</key><string>${xml(log)}</string>
</dict>
</plist>
`;
}

/**
 * The text of the environment file with these variables added. A line that is there stays as it is: a person may have written it.
 * Both systemd and a shell read it.
 */
export function environmentText(before: string, variables: Readonly<Record<string, string>>): string {
  const lines = before === "" ? ["# Read by the service. NAME='value'"] : before.trimEnd().split("\n");
  const known = new Set(lines.map((line) => line.split("=", 1)[0]?.trim()));
  for (const [name, value] of Object.entries(variables)) {
    if (known.has(name)) continue;
    if (/[\p{Cc}'\\]/u.test(value)) {
      throw new InvalidInputError(`The value of ${name} cannot be written into an environment file.`, {
        hint: "It has a quote, a backslash or a line end. Write it by hand, or store the key with `rookery models keys add`.",
      });
    }
    lines.push(`${name}='${value}'`);
  }
  return `${lines.join("\n")}\n`;
}
