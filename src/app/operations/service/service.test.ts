import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { needs } from "../../../../test/kit/needs.ts";
import { lockHome } from "../../../adapters/store/sqlite/home-lock.ts";
import { installService, type RunSystemCommand, removeService, serviceStatus } from "./service.ts";
import { environmentText, planService } from "./service-files.ts";

let userHome: string;
beforeEach(() => {
  userHome = mkdtempSync(join(tmpdir(), "rookery-service-"));
});
afterEach(() => rmSync(userHome, { recursive: true, force: true }));

/** A system that carries out commands and remembers them. */
function system(fails = false) {
  const asked: string[] = [];
  const run: RunSystemCommand = async (command) => {
    asked.push(command.join(" "));
    if (fails) return { ok: false, text: "Failed to connect to bus" };
    return { ok: true, text: command.includes("show") ? "ActiveState=active\nUnitFileState=enabled" : "" };
  };
  return { asked, run };
}

const options = (more: object = {}) => ({
  home: join(userHome, ".rookery"),
  userHome,
  platform: "linux",
  node: process.execPath,
  program: import.meta.filename,
  env: { ANTHROPIC_API_KEY: "sk-secret", EDITOR: "vi" },
  ...more,
});

describe("the service", () => {
  it("is installed with its environment, shown, and removed without a trace", async () => {
    const { asked, run } = system();
    const report = await installService({ ...options(), run });
    const unit = join(userHome, ".config/systemd/user/rookery.service");
    const environment = join(userHome, ".rookery/service.env");
    expect(report).toMatchObject({
      kind: "systemd",
      name: "rookery.service",
      problems: [],
      undo: "rookery engine remove",
    });
    expect(report.did.join("\n")).toContain("ANTHROPIC_API_KEY");
    expect(report.did.join("\n")).not.toContain("sk-secret");
    expect(statSync(environment).mode & 0o777).toBe(0o600);
    expect(readFileSync(environment, "utf8")).toContain("ANTHROPIC_API_KEY='sk-secret'\n");
    expect(readFileSync(environment, "utf8")).not.toContain("EDITOR");
    expect(readFileSync(unit, "utf8")).not.toContain("sk-secret");
    // However often the engine dies, it is started again.
    expect(readFileSync(unit, "utf8")).toContain("\nStartLimitIntervalSec=0\n");
    expect(asked).toEqual(["systemctl --user daemon-reload", "systemctl --user enable --now rookery.service"]);
    expect(await serviceStatus({ ...options(), run })).toMatchObject({
      installed: true,
      state: "active",
      enabled: true,
    });
    await removeService({ ...options(), run });
    expect(asked).toContain("systemctl --user disable --now rookery.service");
    expect([existsSync(unit), existsSync(environment)]).toEqual([false, false]);
    expect(await serviceStatus({ ...options(), run })).toMatchObject({ installed: false });
    expect((await removeService({ ...options(), run })).did).toEqual(["There is no service for this home."]);
  });

  it("writes its files and says what is left to do where there is no user manager", async () => {
    const { run } = system(true);
    const { problems, did } = await installService({ ...options(), run });
    expect(problems).toEqual([
      expect.stringContaining("`systemctl --user daemon-reload` failed: Failed to connect to bus"),
    ]);
    expect(did).toHaveLength(2);
  });

  it("keeps the lines that a person wrote into the environment file", async () => {
    const before = "# mine\nANTHROPIC_API_KEY='other'\n";
    expect(environmentText(before, { ANTHROPIC_API_KEY: "new", OPENAI_API_KEY: "k" })).toBe(
      "# mine\nANTHROPIC_API_KEY='other'\nOPENAI_API_KEY='k'\n",
    );
    expect(() => environmentText("", { KEY: "a'b" })).toThrow("cannot be written");
  });

  it("is refused while an engine runs on the home", async () => {
    const { run } = system();
    const { home } = options();
    const { mkdirSync } = await import("node:fs");
    mkdirSync(home, { recursive: true });
    const lock = lockHome(home);
    await expect(installService({ ...options(), run })).rejects.toThrow("An engine runs on this home already");
    lock.release();
  });

  it.each([["/home/a\nb/.rookery"], ['/home/"x"/.rookery'], ["/home/a\\b"]])("refuses the path %j", (home) => {
    expect(() => planService({ ...options(), home })).toThrow("A service cannot use the path");
  });

  it("refuses a program that npx removes, and systems without a service manager", () => {
    expect(() =>
      planService({ ...options(), program: "/home/a/.npm/_npx/1/node_modules/rookery/dist/bin.js" }),
    ).toThrow("npx");
    expect(() => planService({ ...options(), platform: "win32" })).toThrow("There is no service for win32");
  });

  it("has another name for another home", () => {
    const names = [".rookery", "work 50%", "work-50-"].map(
      (name) => planService({ ...options(), home: join(userHome, name) }).name,
    );
    expect(names[0]).toBe("rookery.service");
    expect(new Set(names).size).toBe(3);
  });

  it("has a unit that systemd accepts, even with odd paths", needs("systemd-analyze"), async () => {
    for (const name of [".rookery", "work 50% $HOME"]) {
      const { run } = system();
      const home = join(userHome, name);
      await installService({ ...options({ home }), run });
      const { unit } = planService(options({ home }));
      const { stdout, stderr } = spawnSync("systemd-analyze", ["--user", "verify", unit.path], {
        encoding: "utf8",
        env: { ...process.env, XDG_RUNTIME_DIR: userHome },
      });
      expect(stdout + stderr).toBe("");
    }
  });

  it("has a launchd agent that is a property list with the same command", async () => {
    const { run, asked } = system();
    const home = join(userHome, "a & b");
    const report = await installService({ ...options({ platform: "darwin", home }), run });
    const { unit } = planService(options({ platform: "darwin", home }));
    const text = readFileSync(unit.path, "utf8");
    expect(text).toContain(`serve --home '${home.replace("&", "&amp;")}'`);
    const { DOMParser } = await import("linkedom");
    const parsed = new DOMParser().parseFromString(text, "text/xml");
    expect([...parsed.querySelectorAll("dict > key")].map((key) => key.textContent)).toContain("KeepAlive");
    expect(asked).toEqual([`launchctl bootstrap gui/${process.getuid?.()} ${unit.path}`]);
    expect(report.kind).toBe("launchd");
  });
});
