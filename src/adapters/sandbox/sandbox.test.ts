import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bwrapSandbox } from "./bwrap-sandbox.ts";
import { dockerSandbox } from "./docker-sandbox.ts";
import { hiddenPaths, programPaths } from "./hidden-paths.ts";
import { mountsOf } from "./mounts.ts";
import { noSandbox, openSandbox } from "./open-sandbox.ts";
import { procMounts } from "./proc-mounts.ts";
import { quoteShell, splitQuoted } from "./quote-shell.ts";
import type { SandboxPolicy } from "./sandbox.ts";

let root: string;
const at = (path: string): string => join(root, path);
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "rookery-sandbox-")));
  mkdirSync(at("home/ws/keys"), { recursive: true });
  writeFileSync(at("home/token"), "");
  writeFileSync(at("home/ws/SOUL.md"), "");
  symlinkSync(at("home/ws"), at("link"));
});
afterAll(() => rmSync(root, { recursive: true }));

const policy = (): SandboxPolicy => ({
  cwd: at("link"),
  writable: [at("link")],
  readable: [at("home/ws/missing")],
  hidden: [at("home/ws/keys"), at("home"), at("home/token"), at("home/ws")],
  frozen: [at("home/ws/SOUL.md")],
  domains: [],
});

it("orders mounts from the outside in, resolves links, and lets a grant win over a default for the same path", async () => {
  expect((await mountsOf(policy())).map(({ path, mode }) => `${mode} ${path.slice(root.length)}`)).toEqual([
    "hide /home",
    "hide /home/token",
    "write /home/ws",
    "freeze /home/ws/SOUL.md",
    "hide /home/ws/keys",
  ]);
  await expect(mountsOf({ ...policy(), hidden: ["home"] })).rejects.toThrow("not an absolute path");
});

it.each<[string, Partial<SandboxPolicy>, string]>([
  ["frozen and writable", { frozen: ["home/ws"], writable: ["home/ws"] }, "freeze"],
  ["writable and readable", { writable: ["home/ws"], readable: ["home/ws"] }, "write"],
  ["readable and hidden", { readable: ["home/ws"], hidden: ["home/ws"] }, "read"],
  ["frozen, and hidden by a link", { frozen: ["home/ws"], hidden: ["link"] }, "freeze"],
  ["hidden by a link", { hidden: ["link"] }, "hide"],
  ["everything", { frozen: ["link"], writable: ["link"], readable: ["link"], hidden: ["link"] }, "freeze"],
])("lets the strongest rule hold for a path that is %s", async (_, rules, mode) => {
  const none = { writable: [], readable: [], hidden: [], frozen: [] };
  const asked = Object.fromEntries(Object.entries(rules).map(([key, paths]) => [key, (paths as string[]).map(at)]));
  expect(await mountsOf({ ...policy(), ...none, ...asked })).toEqual([
    { path: at("home/ws"), mode, isDirectory: true },
  ]);
});

it("mounts what is deeper later, whatever its name is", async () => {
  const deep = { ...policy(), writable: [at("home/ws"), at("home")], hidden: [at("home/ws/keys"), root], frozen: [] };
  expect((await mountsOf(deep)).map(({ path }) => path.slice(root.length))).toEqual([
    "",
    "/home",
    "/home/ws",
    "/home/ws/keys",
  ]);
});

it("makes the arguments of bubblewrap from them: no network, own processes, no rights", async () => {
  const { signal } = new AbortController();
  const open = { ...policy(), sockets: true };
  const args = (await bwrapSandbox("/bin/bw").wrap(["true"], open, [], signal)).argv.join(" ");
  for (const namespace of ["net", "pid", "user", "ipc", "uts", "cgroup-try"])
    expect(args).toContain(`--unshare-${namespace}`);
  for (const option of ["--new-session", "--die-with-parent", "--cap-drop ALL"]) expect(args).toContain(option);
  expect(args).toContain(
    `--ro-bind ${at("home/ws/SOUL.md")} ${at("home/ws/SOUL.md")} --tmpfs ${at("home/ws/keys")} --setenv TMPDIR /tmp --chdir ${at("link")}`,
  );
  expect(args).toContain(
    `--ro-bind / / --dev /dev --proc /proc ${procMounts().join(" ")} --tmpfs ${at("home")} --ro-bind /dev/null ${at("home/token")} --bind ${at("home/ws")} ${at("home/ws")}`,
  );
});

it("makes Docker arguments: granted directories, no network, values only by name", async () => {
  const docker = { image: "debian", user: "1:2" };
  const { signal } = new AbortController();
  const { argv } = await dockerSandbox(docker).wrap(["true"], policy(), ["PATH", "TOKEN"], signal);
  expect(argv.join(" ")).toBe(
    [
      "docker run --rm --init --interactive --pull never --network none --read-only --tmpfs /tmp --user 1:2",
      "--cap-drop ALL --security-opt no-new-privileges --pids-limit 512",
      `--mount type=tmpfs,target=${at("home")}`,
      `--mount type=bind,source=/dev/null,target=${at("home/token")},readonly`,
      `--mount type=bind,source=${at("home/ws")},target=${at("home/ws")}`,
      `--mount type=bind,source=${at("home/ws/SOUL.md")},target=${at("home/ws/SOUL.md")},readonly`,
      `--mount type=tmpfs,target=${at("home/ws/keys")}`,
      `--env PATH --env TOKEN --workdir ${at("link")} debian true`,
    ].join(" "),
  );
  mkdirSync(at("a,b"));
  const wrapped = dockerSandbox(docker).wrap(
    ["true"],
    { ...policy(), writable: [at("a,b")] },
    [],
    new AbortController().signal,
  );
  await expect(wrapped).rejects.toThrow("cannot mount");
});

const works = async (): Promise<undefined> => undefined;
const broken = async (): Promise<string> => "is not installed";

type SandboxProbes = NonNullable<Parameters<typeof openSandbox>[1]>;

it.each<[string, Partial<SandboxProbes>, "auto" | "srt" | "bwrap" | "docker"]>([
  ["srt", {}, "auto"],
  ["bwrap", { srt: broken }, "auto"],
  ["docker", { srt: broken, bwrap: broken }, "auto"],
  ["bwrap", {}, "bwrap"],
  ["none", { srt: broken, bwrap: broken, docker: broken }, "auto"],
  ["none", { bwrap: broken }, "bwrap"],
])("chooses %s", async (kind, probes, wanted) => {
  const choice = await openSandbox(
    { sandbox: wanted, dockerImage: "debian" },
    { srt: works, bwrap: works, docker: works, ...probes },
  );
  expect(choice.sandbox?.kind ?? "none").toBe(kind);
  if (!choice.sandbox)
    expect(noSandbox(choice)).toMatchObject({ code: "denied", hint: expect.stringContaining("apt install") });
});

it("explains why each kind does not work, in order, and asks only the wanted one", async () => {
  const asked: string[] = [];
  const probes: SandboxProbes = {
    srt: async () => `no ${asked.push("srt")}`,
    bwrap: async () => `no ${asked.push("bwrap")}`,
    docker: async (image) => `no ${image} ${asked.push("docker")}`,
  };
  const choice = await openSandbox({ sandbox: "auto", dockerImage: "debian" }, probes);
  expect(choice).toEqual({ problems: ["srt: no 1", "bwrap: no 2", "docker: no debian 3"] });
  expect(noSandbox(choice).message).toBe(
    "There is no sandbox on this machine (srt: no 1. bwrap: no 2. docker: no debian 3).",
  );
  asked.length = 0;
  expect((await openSandbox({ sandbox: "docker" }, probes)).problems).toEqual(["docker: no undefined 1"]);
  expect(asked).toEqual(["docker"]);
  expect((await openSandbox({ sandbox: "docker" })).problems).toEqual(["docker: exec.dockerImage is not set"]);
});

it("passes a command unchanged after the options of each sandbox", async () => {
  const { signal } = new AbortController();
  const argv = ["rm", "--", "-x", "$HOME"];
  const bwrap = await bwrapSandbox("/bin/bw").wrap(argv, policy(), ["PATH"], signal);
  expect(bwrap.argv).toContain("/bin/bw");
  expect(bwrap.argv.slice(-4)).toEqual(argv);
  const docker = dockerSandbox({ image: "debian", user: "1:2" });
  const wrapped = await docker.wrap(argv, policy(), ["PATH"], signal);
  expect([wrapped.argv[0], wrapped.argv.slice(-5)]).toEqual(["docker", ["debian", ...argv]]);
  expect([bwrapSandbox().filtersNetwork, docker.filtersNetwork]).toEqual([false, false]);
});

it.each(['quote"', "comma,source="])("refuses a path that Docker would read as another mount: %s", async (name) => {
  mkdirSync(at(name));
  const { signal } = new AbortController();
  for (const key of ["writable", "readable", "hidden", "frozen"]) {
    const asked = { ...policy(), [key]: [at(name)] };
    const wrapping = dockerSandbox({ image: "debian", user: "1:2" }).wrap(["true"], asked, [], signal);
    await expect(wrapping).rejects.toThrow("cannot mount");
  }
});

it("hides the secrets and sockets of the system, and the home of the account once", () => {
  const hidden = hiddenPaths("/root");
  for (const path of ["/root", "/home", "/tmp", "/run", "/var/run", "/etc/shadow", "/etc/ssh", "/etc/sudoers.d"])
    expect(hidden).toContain(path);
  expect(new Set(hidden).size).toBe(hidden.length);
  expect(programPaths(undefined)).toEqual([]);
  expect(programPaths("/usr/bin:/usr/bin:.:")).toEqual(["/usr/bin", "/usr/lib"]);
});

it("shows programs that are installed in a home directory, and nothing else of it", () => {
  expect(programPaths("/home/a/.nvm/v24/bin:relative:/usr/games")).toEqual([
    "/home/a/.nvm/v24/bin",
    "/home/a/.nvm/v24/lib",
    "/usr/games",
  ]);
  expect(hiddenPaths("/srv/me")).toContain("/srv/me");
  expect(hiddenPaths("/")).not.toContain("/");
});

it("quotes for a shell", () => {
  expect(quoteShell(["a", "b c", "it's", "", "$(x)"])).toBe(`a 'b c' 'it'\\''s' '' '$(x)'`);
  const argv = ["a\nb", "`id`", "a;b", "*", "~", "a\\", '"', "''", "-n", "é", "a&b", "#", "!x", "a\tb", "{a,b}"];
  const shown = execFileSync("/bin/sh", ["-c", `for one in ${quoteShell(argv)}; do printf '%s\\0' "$one"; done`]);
  expect(shown.toString("utf8").split("\0").slice(0, -1)).toEqual(argv);
  // A word may be made of several quoted parts.
  expect(splitQuoted(`a  'b c' 'it'"'"'s' '' "d e"'f'`)).toEqual(["a", "b c", "it's", "", "d ef"]);
});
