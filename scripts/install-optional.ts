/** `node scripts/install-optional.ts DIR`: installs every optional package below DIR/packages, for an image that contains all of them. */
import { installPackage } from "../src/adapters/connectors/packages/install-package.ts";
import { OPTIONAL_PACKAGES } from "../src/adapters/connectors/packages/optional-package.ts";

const [home = ""] = process.argv.slice(2);
for (const one of Object.values(OPTIONAL_PACKAGES)) {
  const result = await installPackage(one, { home, env: process.env });
  console.log(`${one.name} ${one.version}: ${result.status}`);
  if (result.status !== "installed") {
    console.error(result.reason);
    process.exit(1);
  }
}
