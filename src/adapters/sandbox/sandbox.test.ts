import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bwrapArguments } from "./bwrap-sandbox.ts";
import { dockerArguments, dockerSandbox } from "./docker-sandbox.ts";
import { hiddenPaths, programPaths } from "./hidden-paths.ts";
import { mountsOf } from "./mounts.ts";
import { noSandbox, openSandbox, type SandboxProbes } from "./open-sandbox.ts";
import { quoteShell } from "./quote-shell.ts";
import type { SandboxPolicy } from "./sandbox.ts";

let root: string;
const at = (path: string): string => join(root, path);
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-sandbox-"));
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

it("makes the arguments of bubblewrap from them: no network, own processes, no rights", async () => {
  const args = bwrapArguments(await mountsOf(policy()), policy()).join(" ");
  expect(args).toContain("--unshare-net");
  expect(args).toContain("--unshare-pid");
  expect(args).toContain("--die-with-parent");
  expect(args).toContain(
    `--ro-bind / / --dev /dev --proc /proc --tmpfs ${at("home")} --ro-bind /dev/null ${at("home/token")} --bind ${at("home/ws")} ${at("home/ws")}`,
  );
});

it("makes the arguments of Docker: granted directories, no network, values only by name", async () => {
  const docker = { image: "debian", user: "1:2" };
  expect(dockerArguments(await mountsOf(policy()), policy(), ["PATH", "TOKEN"], docker).join(" ")).toBe(
    [
      "run --rm --init --interactive --pull never --network none --read-only --tmpfs /tmp --user 1:2",
      "--cap-drop ALL --security-opt no-new-privileges --pids-limit 512",
      `--mount type=tmpfs,target=${at("home")}`,
      `--mount type=bind,source=/dev/null,target=${at("home/token")},readonly`,
      `--mount type=bind,source=${at("home/ws")},target=${at("home/ws")}`,
      `--mount type=bind,source=${at("home/ws/SOUL.md")},target=${at("home/ws/SOUL.md")},readonly`,
      `--mount type=tmpfs,target=${at("home/ws/keys")}`,
      `--env PATH --env TOKEN --workdir ${at("link")} debian`,
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
});
