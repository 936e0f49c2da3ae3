import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { createHome } from "./create-home.ts";
import { inspectConfig, loadConfig, secretDeps } from "./load-config.ts";
import { homeDirectories, homePaths, resolveHome, resolvePath } from "./paths.ts";
import { Secret } from "./secret.ts";

describe("resolveHome", () => {
  it.each([
    [undefined, {}, "/home/me/.rookery"],
    [undefined, { ROOKERY_HOME: "" }, "/home/me/.rookery"],
    [undefined, { ROOKERY_HOME: "/srv/rookery" }, "/srv/rookery"],
    [undefined, { ROOKERY_HOME: "~/birds" }, "/home/me/birds"],
    ["/said", { ROOKERY_HOME: "/srv/rookery" }, "/said"],
  ])("resolves the flag %j and the environment %j to %s", (said, env, home) => {
    expect(resolveHome(said, env, "/home/me")).toBe(home);
  });
});

describe("resolvePath", () => {
  it.each([
    ["key", "/srv/rookery/key"],
    ["/etc/key", "/etc/key"],
    ["~/key", "/home/me/key"],
    ["~key", "/srv/rookery/~key"],
  ])("resolves %s to %s", (written, path) => {
    expect(resolvePath(written, "/srv/rookery", "/home/me")).toBe(path);
  });
});

describe("a home on disk", () => {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "rookery-home-"));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it("is created with directories that only its owner can enter", async () => {
    const paths = homePaths(join(root, "new"));
    const { created, open } = await createHome(paths);
    expect(created).toEqual(homeDirectories(paths));
    expect(open).toEqual([]);
    for (const directory of homeDirectories(paths)) expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(readdirSync(paths.home).sort()).toEqual(["agents", "cron", "files", "logs", "subagents", "workspace"]);
  });

  it("keeps the mode of an existing directory and reports it", async () => {
    chmodSync(root, 0o755);
    const { open } = await createHome(homePaths(root));
    expect(open).toEqual([root]);
    expect(statSync(root).mode & 0o777).toBe(0o755);
    expect((await createHome(homePaths(root))).created).toEqual([]);
  });

  it("cannot be created if a file is in the way: a typed error", async () => {
    writeFileSync(join(root, "file"), "");
    await expect(createHome(homePaths(join(root, "file")))).rejects.toThrow(ConfigError);
  });

  it("has an empty configuration if there is no file", async () => {
    const loaded = await loadConfig(homePaths(root), {});
    expect(loaded).toMatchObject({ exists: false, warnings: [], config: { gateway: { port: 7717 } } });
  });

  it("has the configuration of its file", async () => {
    const paths = homePaths(root);
    writeFileSync(paths.config, "{ gateway: { port: 8000 } }");
    expect(await loadConfig(paths, {})).toMatchObject({ exists: true, config: { gateway: { port: 8000 } } });
    writeFileSync(paths.config, "{ gateway: { port: 0 } }");
    await expect(loadConfig(paths, {})).rejects.toThrow(`${paths.config}:1:20: gateway.port`);
    expect((await inspectConfig(paths, {})).errors).toHaveLength(1);
  });

  it("throws if its configuration cannot be read", async () => {
    await createHome(homePaths(join(root, "rookery.json5")));
    await expect(loadConfig(homePaths(root), {})).rejects.toThrow(ConfigError);
  });

  it("resolves the files of secrets relative to the home", () => {
    writeFileSync(join(root, "key"), "from a file\n");
    expect(new Secret({ file: "key" }).reveal(secretDeps(root, {}))).toBe("from a file");
    expect(() => new Secret({ file: "none" }).reveal(secretDeps(root, {}))).toThrow(ConfigError);
  });
});
