/**
 * Installs, shows and removes the background service of a home, and says each thing it did and how to undo it. What cannot be done
 * here, such as a system without a user manager, is reported; the files are written all the same.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { isHomeLocked } from "../../../adapters/store/sqlite/home-lock.ts";
import { KNOWN_PROVIDERS } from "../../../config/known-providers.ts";
import { ConflictError } from "../../../core/errors.ts";
import { environmentText, planService, type ServiceKind, type ServicePlan } from "./service-files.ts";

export interface ServiceOptions {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform?: string;
  readonly userHome?: string;
  /** Default: those of this process. */
  readonly node?: string;
  readonly program?: string;
  /** Runs a command of the system. */
  readonly run?: RunSystemCommand;
}

export type RunSystemCommand = (command: readonly string[]) => Promise<{ readonly ok: boolean; readonly text: string }>;

export interface InstallOptions extends ServiceOptions {
  /** Variables for the environment file. Default: the keys of model providers that are set now. */
  readonly variables?: readonly string[];
  /** Whether it starts now. Default: yes. */
  readonly start?: boolean;
}

export interface ServiceReport {
  readonly kind: ServiceKind;
  readonly name: string;
  /** Sentences about what was done. */
  readonly did: readonly string[];
  /** What could not be done, and what to do then. */
  readonly problems: readonly string[];
  readonly undo: string;
}

export interface ServiceStatus {
  readonly kind: ServiceKind;
  readonly name: string;
  readonly file: string;
  readonly installed: boolean;
  /** As the system says it: `active`, `inactive`, `failed`; `unknown` if it does not answer. */
  readonly state: string;
  /** Whether it starts with the session. */
  readonly enabled: boolean;
}

/** Rejects with `ConflictError` if another process uses the home: the service could not start. */
export async function installService(options: InstallOptions): Promise<ServiceReport> {
  const { env, home, start = true, run = runSystemCommand } = options;
  const plan = planOf(options);
  const did: string[] = [];
  const problems: string[] = [];
  if (start && !existsSync(plan.unit.path) && isHomeLocked(home)) {
    throw new ConflictError("An engine runs on this home already, so the service could not start.", {
      hint: "Stop it, then run `rookery engine install` again.",
    });
  }
  const names = (options.variables ?? providerKeys()).filter((name) => env[name]);
  const variables = Object.fromEntries(names.map((name) => [name, env[name] ?? ""]));
  const before = existsSync(plan.environment) ? readFileSync(plan.environment, "utf8") : "";
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(plan.environment, environmentText(before, variables), { mode: 0o600 });
  const list = names.length === 0 ? "no variables; add keys there as NAME='value'" : names.join(", ");
  did.push(`Wrote ${plan.environment} (only you can read it): ${list}.`);
  mkdirSync(dirname(plan.unit.path), { recursive: true });
  writeFileSync(plan.unit.path, plan.unit.text, { mode: plan.unit.mode });
  did.push(`Wrote ${plan.unit.path}.`);
  for (const { command, text } of installCommands(plan, start)) {
    const { ok, text: reason } = await run(command);
    if (ok) did.push(text);
    else {
      problems.push(`\`${command.join(" ")}\` failed: ${reason}. Run it when your session has a service manager.`);
      break;
    }
  }
  return { kind: plan.kind, name: plan.name, did, problems, undo: "rookery engine remove" };
}

export async function removeService(options: ServiceOptions): Promise<ServiceReport> {
  const { run = runSystemCommand } = options;
  const plan = planOf(options);
  const did: string[] = [];
  const problems: string[] = [];
  if (existsSync(plan.unit.path)) {
    const { ok, text } = await run(stopCommand(plan));
    if (ok) did.push(`Stopped ${plan.name}.`);
    else problems.push(`${plan.name} could not be stopped: ${text}. If it runs, stop it by hand.`);
    rmSync(plan.unit.path);
    did.push(`Removed ${plan.unit.path}.`);
    if (plan.kind === "systemd") await run(["systemctl", "--user", "daemon-reload"]);
  }
  if (existsSync(plan.environment)) {
    rmSync(plan.environment);
    did.push(`Removed ${plan.environment}.`);
  }
  if (did.length === 0) did.push("There is no service for this home.");
  return { kind: plan.kind, name: plan.name, did, problems, undo: "rookery engine install" };
}

export async function serviceStatus(options: ServiceOptions): Promise<ServiceStatus> {
  const { run = runSystemCommand } = options;
  const plan = planOf(options);
  const { kind, name, unit } = plan;
  const installed = existsSync(unit.path);
  const about = { kind, name, file: unit.path, installed };
  if (!installed) return { ...about, state: "inactive", enabled: false };
  if (kind === "launchd") {
    const { ok, text } = await run(["launchctl", "print", `${launchdDomain()}/${name}`]);
    return { ...about, state: /state = running/.test(text) ? "active" : ok ? "inactive" : "unknown", enabled: ok };
  }
  const { text } = await run(["systemctl", "--user", "show", name, "--property=ActiveState,UnitFileState"]);
  const property = (key: string): string | undefined =>
    text
      .split("\n")
      .find((line) => line.startsWith(`${key}=`))
      ?.slice(key.length + 1);
  return { ...about, state: property("ActiveState") || "unknown", enabled: property("UnitFileState") === "enabled" };
}

const planOf = ({ home, env, platform, userHome, node, program }: ServiceOptions): ServicePlan =>
  planService({
    home,
    platform: platform ?? process.platform,
    userHome: userHome ?? env.HOME ?? homedir(),
    node: node ?? process.execPath,
    program: program ?? process.argv[1] ?? "",
  });

const launchdDomain = (): string => `gui/${process.getuid?.() ?? 0}`;

function installCommands({ kind, name, unit }: ServicePlan, start: boolean) {
  if (!start) return [];
  if (kind === "launchd") {
    const text = `Started ${name}; it starts with your session from now on.`;
    return [{ command: ["launchctl", "bootstrap", launchdDomain(), unit.path], text }];
  }
  return [
    { command: ["systemctl", "--user", "daemon-reload"], text: "systemd has read it." },
    {
      command: ["systemctl", "--user", "enable", "--now", name],
      text: `Started ${name}; it starts with your session from now on.`,
    },
  ];
}

const stopCommand = ({ kind, name }: ServicePlan): readonly string[] =>
  kind === "launchd"
    ? ["launchctl", "bootout", `${launchdDomain()}/${name}`]
    : ["systemctl", "--user", "disable", "--now", name];

const providerKeys = (): readonly string[] => [
  ...new Set(Object.values(KNOWN_PROVIDERS).flatMap(({ env }) => env)),
  ...["ROOKERY_STORE", "ROOKERY_TOKEN"],
];

const runSystemCommand: RunSystemCommand = ([program = "", ...args]) =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      const text = (error ? stderr || error.message : stdout).trim();
      resolve({ ok: error === null, text: error ? (text.split("\n")[0]?.slice(0, 300) ?? "") : text });
    });
  });
