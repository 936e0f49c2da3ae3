/** An npm registry for tests, over real HTTP: it has the packages that a test makes, and can hand out another content than it says. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface MadePackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

export interface FakeRegistry {
  /** The environment in which npm uses this registry and a cache of its own. */
  readonly env: Readonly<Record<string, string>>;
  /** Publishes a package of these files. */
  publish(
    manifest: { name: string; version: string } & Record<string, unknown>,
    files: Record<string, string>,
  ): MadePackage;
  /** From now on the tarballs have one byte more. */
  tamper(): void;
  /** From now on the content of this package is not sent. Resolves when it was asked for. */
  hold(name: string): Promise<void>;
  release(): void;
  close(): Promise<void>;
}

export async function fakeRegistry(): Promise<FakeRegistry> {
  const directory = mkdtempSync(join(tmpdir(), "rookery-registry-"));
  const packages = new Map<string, { manifest: object; tarball: Buffer; made: MadePackage }>();
  let isTampered = false;
  let held: { readonly name: string; readonly asked: PromiseWithResolvers<void> } | undefined;
  const server = createServer((request, response) => {
    const url = decodeURIComponent(request.url ?? "");
    const found = packages.get(url.slice(1).split("/-/")[0] ?? "");
    if (!found) return void response.writeHead(404).end("{}");
    if (url.includes("/-/")) {
      if (held?.name === found.made.name) return held.asked.resolve();
      return void response.end(isTampered ? Buffer.concat([found.tarball, Buffer.from("x")]) : found.tarball);
    }
    const { name, version, integrity } = found.made;
    const dist = { tarball: `${address()}/${name}/-/${name}-${version}.tgz`, integrity };
    const versions = { [version]: { ...found.manifest, dist } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    env: {
      PATH: process.env.PATH ?? "",
      HOME: directory,
      npm_config_registry: address(),
      npm_config_cache: join(directory, "cache"),
      npm_config_update_notifier: "false",
      // As `npm run -s` leaves it to what it starts.
      npm_config_loglevel: "silent",
    },
    publish(manifest, files) {
      const { name, version } = manifest;
      const root = join(directory, `${name}-${version}`);
      for (const [path, text] of Object.entries({ ...files, "package.json": JSON.stringify(manifest) })) {
        const file = join(root, "package", path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
      }
      spawnSync("tar", ["-czf", join(root, "p.tgz"), "-C", root, "package"]);
      const tarball = readFileSync(join(root, "p.tgz"));
      const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
      const made = { name, version, integrity };
      packages.set(name, { manifest, tarball, made });
      return made;
    },
    tamper() {
      isTampered = true;
    },
    hold(name) {
      held = { name, asked: Promise.withResolvers() };
      return held.asked.promise;
    },
    release() {
      held = undefined;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
