import { createRookery } from "rookery";

await using rookery = await createRookery({ home: "memory" });
const list = new File(["milk, bread"], "list.txt");
console.log(await rookery.agent("ann").ask("What is on the list?", { files: [list] }));
const { id } = await rookery.files.put(new Uint8Array([1, 2, 3]), { name: "data.bin", user: "ann" });
console.log((await rookery.files.get(id, { user: "ann" })).mimeType, (await rookery.files.usage({ user: "ann" })).usedBytes);
await rookery.files.remove(id, { user: "ann" });