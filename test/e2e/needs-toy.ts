/** Loaded before the command in a test: the Telegram connector needs a package then, which the variable `TOY_PACKAGE` describes. */
import type { ConnectorKindDefinition } from "../../src/adapters/connectors/accounts/connector-kind.ts";
import type { OptionalPackage } from "../../src/adapters/connectors/packages/optional-package.ts";
import { TELEGRAM } from "../../src/adapters/connectors/telegram/telegram-kind.ts";

const toy = JSON.parse(process.env.TOY_PACKAGE ?? "") as OptionalPackage;
(TELEGRAM as { needs?: OptionalPackage } & ConnectorKindDefinition).needs = toy;
