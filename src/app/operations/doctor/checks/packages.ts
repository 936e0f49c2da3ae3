/** The optional packages that the configured channels need. Their repair installs them, which the command asks for first. */
import { installPackage } from "../../../../adapters/connectors/packages/install-package.ts";
import { missingPackages } from "../../../../adapters/connectors/packages/load-package.ts";
import { neededPackages } from "../../../node/configured-connectors.ts";
import { defineCheck } from "../check.ts";

export const PACKAGES_CHECK = "packages";

export const packagesCheck = defineCheck({
  id: PACKAGES_CHECK,
  needs: ["config"],
  check({ config, paths: { home }, env }) {
    const findings = missingPackages(neededPackages(config), { home, env }).map(({ name, version, use }) => ({
      level: "problem" as const,
      text: `${use} needs the package ${name} ${version}, which is not installed.`,
      help: "`rookery doctor --fix` installs it, after a yes.",
      fixable: true as const,
    }));
    return { fine: "The channels have the packages they need.", findings };
  },
  async fix({ config, paths: { home }, env }) {
    const done: string[] = [];
    for (const one of missingPackages(neededPackages(config), { home, env })) {
      const result = await installPackage(one, { home, env });
      done.push(
        result.status === "installed"
          ? `Installed ${one.name} ${one.version} for ${one.use}.`
          : `${one.name} ${one.version} is not installed: ${result.reason}. Install it with: ${result.command}`,
      );
    }
    return done;
  },
});
