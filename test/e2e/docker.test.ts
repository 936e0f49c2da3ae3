import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parseConfig } from "../../src/config/parse-config.ts";

const text = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

it("the image is built from files that exist", () => {
  const copied = [...text("Dockerfile").matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = ""]) =>
    files.split(" "),
  );
  expect(copied).toContain("package-lock.json");
  for (const file of copied) expect(existsSync(new URL(`../../${file}`, import.meta.url)), file).toBe(true);
});

it("the nodes of the compose file trust its proxy only", () => {
  const file = "docker/rookery.json5";
  const { config, warnings } = parseConfig({ text: text(file), file, env: {} });
  expect(warnings).toEqual([]);
  const compose = text("docker-compose.yml");
  const [, proxy = ""] = /inside: \{ ipv4_address: (\S+) \}/.exec(compose) ?? [];
  expect(config.gateway.trustedProxies).toEqual([proxy]);
  expect(config.gateway.host).toBe("0.0.0.0");
  for (const [, mounted = ""] of compose.matchAll(/\.\/(docker\/[A-Za-z0-9.]+):/g)) {
    expect(existsSync(new URL(`../../${mounted}`, import.meta.url)), mounted).toBe(true);
  }
  expect(text("docker/Caddyfile")).toContain(`dynamic a node ${config.gateway.port}`);
});

it("the image contains the optional packages, where the loader looks for them", () => {
  const file = text("Dockerfile");
  expect(file).toContain("node scripts/install-optional.ts /packages");
  expect(file).toMatch(/ROOKERY_PACKAGES=\/app\/packages[\s\S]*COPY --from=build \/packages\/packages \.\/packages/);
});
