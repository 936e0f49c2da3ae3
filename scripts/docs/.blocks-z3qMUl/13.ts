import { createRookery } from "rookery";
import { dieAt, faultyStore, memoryStore, scripted } from "rookery/testing";

const store = memoryStore();
const model = scripted("hello");
// This process dies before it records its answer.
const dying = await createRookery({ home: "memory", model, store: faultyStore(store, dieAt("rest", "before")) });
await dying.agent("ann").send("hi", { id: "first" });
// The next one answers what was accepted, once.
await using next = await createRookery({ home: "memory", model, store });
const receipt = await next.agent("ann").send("hi", { id: "first" });
console.log((await receipt.result()).text);