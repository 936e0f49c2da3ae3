/** Two engines on one PostgreSQL: either takes a message, one of them answers it. `STORE=postgres://… node examples/two-nodes.ts` */
import { createRookery } from "rookery";
import { scripted } from "rookery/testing";

const store = process.env.STORE;
if (store === undefined) throw new TypeError("Set STORE to a PostgreSQL database: postgres://user@host/database");
const model = scripted("hello");
await using one = await createRookery({ home: "memory", store, model });
await using two = await createRookery({ home: "memory", store, model });
const sent = await one.agent("ann").send("hello", { id: "greeting" });
// The same id at the other engine is the same message.
const again = await two.agent("ann").send("hello", { id: "greeting" });
console.log(again.messageId === sent.messageId ? "accepted once" : "accepted twice");
console.log((await again.result()).text);
