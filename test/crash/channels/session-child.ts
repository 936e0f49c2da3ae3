/** Stores one round of keys after the other, and says each that is durable, until it is killed. */
import { roundOf, sessionIn } from "../../../src/adapters/connectors/whatsapp-web/session-rounds.test-kit.ts";
import { openSqliteStore } from "../../../src/adapters/store/sqlite/open-store.ts";

const [home = "", first = "1"] = process.argv.slice(2);
const auth = sessionIn(openSqliteStore({ home }));
for (let round = Number(first); ; round++) {
  await auth.set(roundOf(round));
  console.log(round);
}
